"""Tool names on the wire, and back."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.messages import AssistantMessage, Reply, Request, TextPiece, ToolCall, ToolSpec, UserMessage
from registry.wire.naming import AS_THEY_ARE, Naming, naming

HI = UserMessage(text="hi")


def tools(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name=name, description="", parameters={}) for name in names)


def calls(*names: str) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(id=str(n), name=name, arguments="{}") for n, name in enumerate(names))


def asked(offered: Sequence[str], called: Sequence[str] = (), choice: str = "auto") -> Request:
    messages = (HI, AssistantMessage(text="", calls=calls(*called)))
    return Request(messages=messages, tools=tools(*offered), tool_choice=choice)


def named(request: Request, longest: int) -> Naming:
    made = [call for message in request.messages if isinstance(message, AssistantMessage) for call in message.calls]
    return naming(request.tools, made, longest)


def on_wire(offered: Sequence[str], called: Sequence[str] = (), longest: int = 64) -> tuple[list[str], list[str]]:
    """The names of the tools and of the calls as they are sent."""
    request = asked(offered, called)
    *_, said = named(request, longest).lowered(request).messages
    assert isinstance(said, AssistantMessage)
    return [tool.name for tool in named(request, longest).lowered(request).tools], [call.name for call in said.calls]


def came_back(names: Naming, *said: str) -> list[str]:
    return [call.name for call in names.lifted(Reply(calls=calls(*said))).calls]


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        pytest.param("calendar.create", "calendar_create", id="dot"),
        pytest.param("files/read", "files_read", id="slash"),
        pytest.param("Scan Dockerfile", "Scan_Dockerfile", id="space"),
        pytest.param("a::b", "a_b", id="several in a row"),
        pytest.param("поиск", "_", id="nothing that is taken"),
        pytest.param("x" * 64, "x" * 64, id="long enough"),
    ],
)
def test_names_that_endpoints_do_not_take(name: str, wire: str) -> None:
    """What is not taken becomes an underscore, for tools and calls alike, and a call comes back under the tool's name."""
    assert ([wire], [wire]) == on_wire([name], [name])
    assert [name] == came_back(named(asked([name]), 64), wire)


def test_what_is_taken_costs_nothing() -> None:
    """A request of legal names is sent as it is, the same object, and so is its reply."""
    request, reply = asked(["look", "a-b_c"], ["look", "gone"]), Reply(calls=calls("look"))
    names = named(request, 64)

    assert names is AS_THEY_ARE
    assert names.lowered(request) is request
    assert names.lifted(reply) is reply


def test_names_that_would_look_the_same() -> None:
    """The tool that is really named so keeps its name, then the first; the others get a mark, and each comes back as itself."""
    offered = ["a.b", "a/b", "a_b", "a b"]
    wire, _ = on_wire(offered)

    assert "a_b" == wire[2]
    assert all(re.fullmatch(r"a_b_[0-9a-f]{8}", name) for name in (wire[0], wire[1], wire[3]))
    assert 4 == len(set(wire))
    assert offered == came_back(named(asked(offered), 64), *wire)
    assert (["a_b"], []) == on_wire(["a.b"])


def test_long_names_are_cut() -> None:
    """What is too long is cut and marked, so that two of one beginning stay apart."""
    offered = ["x" * 70, "x" * 71, "y" * 65]
    wire, _ = on_wire(offered)

    assert [64, 64, 64] == [len(name) for name in wire]
    assert offered == came_back(named(asked(offered), 64), *wire)
    assert (offered, []) == on_wire(offered, longest=128)


def test_a_mark_is_the_names_own() -> None:
    """Which other tools there are, and in which order, changes no marked name."""
    few, _ = on_wire(["a_b", "a.b"])
    many, _ = on_wire(["a b", "z.z", "a_b", "a/b", "a.b"])

    assert few == [many[2], many[4]]


def test_what_a_model_made_up_stays() -> None:
    """An unknown name comes back unchanged; in later requests it gives way to the tools."""
    names = named(asked(["a.b"]), 64)

    assert ["b", "a-b", "a.b", ""] == came_back(names, "b", "a-b", "a.b", "")
    (wire,), (made_up, empty) = on_wire(["a.b"], ["a_b", ""])
    assert ("a_b", "_") == (wire, empty)
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", made_up)


def test_prefixes_of_models() -> None:
    """A prefix that models put before names stands before the name on the wire, and a tool may be really named so."""
    names = named(asked(["functions.x", "files/read"]), 64)

    assert ["files/read", "functions.x", "functions.x"] == came_back(
        names, "default_api.files_read", "functions_x", "tool.functions_x"
    )


def test_the_choice_is_renamed_too() -> None:
    """A tool that must be called is named as the endpoint knows it; the words for any other choice stay."""
    for choice, wire in (("a.b", "a_b"), ("auto", "auto"), ("none", "none")):
        request = asked(["a.b"], choice=choice)
        assert wire == named(request, 64).lowered(request).tool_choice


def test_tools_are_renamed_once() -> None:
    """The tool under its other name is one object, as is a tool that keeps its own: wire forms are remembered by it."""
    request = asked(["a.b", "c"])
    once, again = (named(request, 64).lowered(request).tools for _ in range(2))

    assert once[0] is again[0]
    assert once[1] is request.tools[1]


def test_only_replies_have_names() -> None:
    """A piece of text passes as it is."""
    piece = TextPiece("a_b")

    assert named(asked(["a.b"]), 64).lifted(piece) is piece


names = st.text(st.sampled_from("ab_./ é"), max_size=5)


@given(st.lists(names, unique=True, max_size=5), st.lists(names, max_size=5), st.lists(names, max_size=3), st.integers(12, 20))
def test_any_names(offered: list[str], called: list[str], more: list[str], longest: int) -> None:
    """All names on the wire are legal, different ones differ, all come back, and what a transcript adds changes none."""
    names = named(asked(offered, called), longest)
    tools_on_wire, calls_on_wire = on_wire(offered, called, longest)
    own = dict(zip([*tools_on_wire, *calls_on_wire], [*offered, *called], strict=True))

    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= longest for name in own)
    assert len(own) == len({*offered, *called})
    assert list(own.values()) == came_back(names, *own)
    tools_later, calls_later = on_wire(offered, [*called, *more], longest)
    assert (tools_on_wire, calls_on_wire) == (tools_later, calls_later[: len(called)])
