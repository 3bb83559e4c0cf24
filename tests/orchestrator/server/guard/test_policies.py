"""What a route declares."""

import pytest

from orchestrator.server.guard.policies import Policy, declares, policy_of


@pytest.mark.parametrize("policy", ["public", "login", "read", "write"])
def test_what_is_declared_is_found(policy: str) -> None:
    """The endpoint stays what it was, and has its policy."""

    def endpoint() -> str:
        return "here"

    marked = declares(policy)(endpoint)  # type: ignore[arg-type]

    assert (Policy(policy), "here") == (policy_of(marked), marked())


def test_nothing_is_declared_by_default() -> None:
    """What says nothing has no policy, and neither has what says something else."""
    other = type("Other", (), {"__dagwright_policy__": "public"})

    assert (None, None) == (policy_of(len), policy_of(other))
    with pytest.raises(ValueError, match="admin"):
        declares("admin")  # type: ignore[arg-type]
