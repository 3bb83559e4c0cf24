"""The errors of this layer, and the root of all of dagwright's.

    DagwrightError
      ConfigurationError   the caller's setting is wrong or absent: said once, nothing was tried
      ModelError           no usable reply from a model: the governor, retry and structured calls answer it
      ToolError            a tool call went wrong: the agent shows it to its model

A constructor takes facts and builds the sentence; the facts stay as attributes, so nobody has to parse a message.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from registry.usage import Usage


def there_are(wanted: str, known: Iterable[str]) -> str:
    """The tail of a 'no such name' sentence: the nearest name, and all that there are."""
    names = sorted(known)
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}there are: {', '.join(names) or 'none'}"


class DagwrightError(Exception):
    """Root of every error that dagwright raises on purpose."""


class ConfigurationError(DagwrightError):
    """A setting is wrong or absent; the sentence says what to set."""


class UnknownModel(ConfigurationError):
    """Neither a role nor a model is known by this hint."""

    def __init__(self, hint: str, known: Iterable[str]) -> None:
        super().__init__(f"no model or role named {hint!r}; {there_are(hint, known)}")
        self.hint = hint


class ModelError(DagwrightError):
    """A model gave no usable reply. `usage` is what the attempt cost, as far as anybody said."""

    def __init__(self, sentence: str, *, usage: Usage | None = None) -> None:
        super().__init__(sentence)
        self.usage = usage or Usage()


class Unreachable(ModelError):
    """No connection, a connection that broke, or an answer that never came."""

    def __init__(self, endpoint: str, why: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"{endpoint} can't be reached: {why}", usage=usage)
        self.endpoint, self.why = endpoint, why


class Unable(Unreachable):
    """Of several models, none that has an ability which the request needs can be reached.

    Any one of the abilities in `needs` would do. `lacking` names the models that have none of them and were passed over. The
    sentence tells the error of the one that was asked `last`, if any was.
    """

    def __init__(self, needs: tuple[str, ...], lacking: tuple[str, ...], *, last: ModelError | None = None) -> None:
        tried = "" if last is None else f"; the last one asked: {last}"
        super().__init__(f"a model with {' or '.join(needs)}", f"it is lacking in {', '.join(lacking)}{tried}")
        self.needs, self.lacking = needs, lacking


class Overloaded(ModelError):
    """The endpoint asks us to come back: 408, 409, 429, 5xx, 529. `retry_after` is seconds, or None when not said."""

    def __init__(self, endpoint: str, why: str, *, retry_after: float | None = None) -> None:
        wait = "" if retry_after is None else f"; it asks to wait {retry_after:g} s"
        super().__init__(f"{endpoint} is overloaded: {why}{wait}")
        self.endpoint, self.why, self.retry_after = endpoint, why, retry_after


class Refused(ModelError):
    """The endpoint says that the request itself is wrong. `parameter` is the part it named, if any, `codes` are its own.

    `model` is the name of the one that refused, where several models go by one name; otherwise it is empty.
    """

    model = ""

    def __init__(
        self,
        endpoint: str,
        why: str,
        *,
        status: int | None = None,
        parameter: str | None = None,
        codes: tuple[str, ...] = (),
    ) -> None:
        part = f" (parameter {parameter!r})" if parameter else ""
        super().__init__(f"{endpoint} refused the request{part}: {why}")
        self.endpoint, self.why, self.status, self.parameter, self.codes = endpoint, why, status, parameter, codes


class Unauthorized(ModelError):
    """The endpoint does not accept our credentials, or they may not use this model."""

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(f"{endpoint} did not accept the credentials: {why}")
        self.endpoint, self.why = endpoint, why


class WindowExceeded(ModelError):
    """The request is longer than the model's context window."""

    def __init__(self, endpoint: str, why: str) -> None:
        super().__init__(f"{endpoint} can't take so long a request: {why}")
        self.endpoint, self.why = endpoint, why


class Truncated(ModelError):
    """A reply that stopped in the middle: the stream broke off, or no terminal mark came."""

    def __init__(self, endpoint: str, why: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"{endpoint} stopped in the middle of its reply: {why}", usage=usage)
        self.endpoint, self.why = endpoint, why


class Garbled(ModelError):
    """A reply that is not what the protocol promises, such as a web page where JSON was due."""

    def __init__(self, endpoint: str, why: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"{endpoint} answered with something unreadable: {why}", usage=usage)
        self.endpoint, self.why = endpoint, why


class NoTypedAnswer(ModelError):
    """No rung of a structured call gave a value that fits the schema. `tried` says what each attempt came to."""

    def __init__(self, wanted: str, tried: tuple[str, ...], *, usage: Usage) -> None:
        last = f"; the last one: {tried[-1]}" if tried else ""
        super().__init__(f"no valid {wanted} after {len(tried)} replies{last}", usage=usage)
        self.wanted, self.tried = wanted, tried


class ToolError(DagwrightError):
    """A tool call went wrong. The agent turns it into an observation, so the sentence is for a model to read."""


class UnknownTool(ToolError):
    """The model asked for a tool that its step was not given."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no tool named {name!r}; {there_are(name, known)}")
        self.name = name


class BadArguments(ToolError):
    """The arguments do not fit the tool's schema; nothing ran."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"wrong arguments for {tool!r}: {why}")
        self.tool, self.why = tool, why


class ToolFailed(ToolError):
    """The tool raised. Tools may raise this themselves to choose the sentence that the model reads."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"{tool!r} failed: {why}")
        self.tool, self.why = tool, why


class ToolTimedOut(ToolError):
    """The tool did not answer in time. What it had begun may or may not have happened."""

    def __init__(self, tool: str, seconds: float) -> None:
        super().__init__(f"{tool!r} did not answer within {seconds:g} s")
        self.tool, self.seconds = tool, seconds


class ToolDenied(ToolError):
    """A policy forbids this call."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"{tool!r} may not be called so: {why}")
        self.tool, self.why = tool, why
