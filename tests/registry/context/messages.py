"""Messages for the tests of the context: some that matter, and any at all."""

from random import Random

from registry.context import is_result
from registry.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage

SYSTEM = SystemMessage(text="be brief")
GOAL = UserMessage(text="find the answer", pinned=True)


def asking(*ids: str, text: str = "", arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage(text=text, calls=tuple(ToolCall(id=id, name="look", arguments=arguments) for id in ids))


def result(id: str, text: str = "found") -> ToolMessage:
    return ToolMessage(call_id=id, name="look", text=text, origins=("tool:look",))


def observed(id: str, text: str = "found") -> UserMessage:
    """A result as a model without tool calls reads it."""
    return UserMessage(text=f"Observation from look:\n{text}", call_id=id, origins=("tool:look",))


def native(rounds: int, text: str) -> list[Message]:
    """So many calls, each with a result of its own that is this text."""
    return [message for n in range(rounds) for message in (asking(f"c{n}"), result(f"c{n}", f"{n} {text}"))]


def in_json(rounds: int, text: str) -> list[Message]:
    """The same, as models without tool calls say and read it."""
    said = '{"tool_call": {"name": "look", "arguments": {}}}'
    return [message for n in range(rounds) for message in (AssistantMessage(text=said), observed(f"c{n}", f"{n} {text}"))]


def results_of(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if is_result(message)]


_PIECES = ("ab ", "<", "\n", "漢", "🙂", "</result-0> ", "[USER INTERRUPT] ", "[… 3 characters cut]")
_IDS = tuple(f"call_{n}" for n in range(12))


def any_text(random: Random) -> str:
    """Of any length, some longer than a whole window, and with all in it that might be mistaken for ours."""
    return "".join(random.choices(_PIECES, k=random.randint(0, 6))) * random.choice((0, 1, 1, 9, 30, 30, 400))


def any_message(random: Random) -> Message:
    text, call = any_text(random), random.choice(_IDS)
    match random.randrange(5):
        case 0:
            return UserMessage(text=text, pinned=random.random() < 0.4)
        case 1:
            return UserMessage(text=text, call_id=call)
        case 2:
            return ToolMessage(call_id=call, name="look", text=text)
        case 3:
            return AssistantMessage(text=text, reasoning=any_text(random), opaque=any_text(random))
        case _:
            arguments = f'{{"a": "{"z" * random.choice((0, 50, 5_000))}"}}'
            return asking(*random.sample(_IDS, random.randint(1, 3)), text=text, arguments=arguments)


def any_transcript(random: Random) -> list[Message]:
    """Any conversation: orphans, results that come twice, pins in its midst."""
    head = [SystemMessage(text=any_text(random))] if random.random() < 0.8 else []
    goal = UserMessage(text=any_text(random), pinned=random.random() < 0.8)
    return [*head, goal, *(any_message(random) for _ in range(random.randint(0, 30)))]


def some_handles(random: Random) -> dict[str, str]:
    return {call: f"look-{random.randrange(999):010x}" for call in random.sample(_IDS, random.randint(0, len(_IDS)))}
