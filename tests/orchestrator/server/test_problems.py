"""What went wrong, in the one form."""

import orjson
import pytest

from orchestrator.server.problems import MEDIA_TYPE, TITLES, problem


@pytest.mark.parametrize("slug", TITLES)
def test_every_kind_says_what_it_is(slug: str) -> None:
    """Type and title of the kind, the status, the sentence, and what there is."""
    response = problem(418, slug, "so it is", most=3)

    assert (418, MEDIA_TYPE) == (response.status_code, response.headers["content-type"])
    assert {
        "type": f"urn:dagwright:{slug}",
        "title": TITLES[slug],
        "status": 418,
        "detail": "so it is",
        "most": 3,
    } == orjson.loads(response.body)
