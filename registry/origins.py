"""Where a value came from: the seed of everything that keeps untrusted text from steering a run.

An origin names an untrusted source (`tool:read_file`, `server:...`). A value with no origins is trusted: it came from the
user, the plan or the configuration. Values made of others carry all their origins, and nothing takes one away.
"""

Origins = tuple[str, ...]
"""Untrusted sources, sorted, each once. Empty means trusted."""

TRUSTED: Origins = ()


def joined(*many: Origins) -> Origins:
    """The union of several origins: the one place where they meet."""
    met = set(filter(None, many))
    if not met:
        return TRUSTED
    if len(met) == 1:
        return met.pop()
    return tuple(sorted({origin for origins in met for origin in origins}))
