"""What a replay says of a request that it does not know."""

import pytest
from msgspec.structs import replace

from registry.messages import AssistantMessage, Request, SystemMessage, ToolSpec, UserMessage
from registry.recording.differences import described, instead
from registry.recording.exchanges import Exchange

LONG = "Say in one sentence which of the two harbours is the larger one, and by how many berths: "
ASKED = Request(messages=(SystemMessage(text="Be brief."), UserMessage(text=LONG + "north or south?")))


def recorded(*texts: str) -> list[Exchange]:
    return [Exchange(way="chat", request=saying(text)) for text in texts]


def saying(text: str) -> Request:
    return replace(ASKED, messages=(*ASKED.messages[:1], UserMessage(text=text)))


def test_a_request_in_one_line() -> None:
    """How it was made, how much it holds, and how its last message begins."""
    assert 'chat of 2 messages and 0 tools, ending in "Say in one sentence which of the two harbours is the larger…' == described(
        "chat", ASKED
    )
    assert "stream_chat of 0 messages and 0 tools" == described("stream_chat", Request(messages=()))


@pytest.mark.parametrize(
    ("came", "others", "said"),
    [
        pytest.param(ASKED, [], "nothing is recorded", id="nothing"),
        pytest.param(saying("a"), recorded("a", "b", "a"), "it is recorded 2 times and came once more", id="too-often"),
        pytest.param(
            ASKED,
            recorded("Where?", LONG + "east or west?", "Why?"),
            "the nearest recorded one is number 2, which differs in messages[1].text: "
            'here …by how many berths: north or south?", there …by how many berths: east or west?"',
            id="nearest-by-its-text",
        ),
        pytest.param(
            replace(ASKED, max_tokens=1, temperature=0.5),
            [Exchange(way="chat", request=ASKED)],
            "the nearest recorded one is number 1, which differs in max_tokens: here 1, there nothing, and in 1 more places",
            id="absent-there",
        ),
        pytest.param(
            ASKED,
            [Exchange(way="stream_chat", request=ASKED)],
            'the nearest recorded one is number 1, which differs in way: here "chat", there "stream_chat"',
            id="another-way",
        ),
        pytest.param(
            ASKED,
            [
                Exchange(way="chat", request=replace(ASKED, messages=(*ASKED.messages, AssistantMessage(text="South.")))),
                Exchange(way="chat", request=replace(ASKED, messages=(SystemMessage(text="Be long."), *ASKED.messages[1:]))),
            ],
            'the nearest recorded one is number 2, which differs in messages[0].text: here "Be brief.", there "Be long."',
            id="nearest-by-fewest-differences",
        ),
    ],
)
def test_what_there_is_instead(came: Request, others: list[Exchange], said: str) -> None:
    """The nearest request that is recorded, and the place where the two part."""
    assert said == instead("chat", came, others)


def test_numbers_that_only_python_takes_for_equal_differ() -> None:
    """1, 1.0 and true are three values in JSON."""

    def offering(default: object) -> Request:
        return replace(ASKED, tools=(ToolSpec(name="t", description="", parameters={"default": default}),))

    said = instead("chat", offering(1), [Exchange(way="chat", request=offering(True))])

    assert said.endswith("differs in tools[0].parameters.default: here 1, there true")
