"""The errors of this layer, and the root of all of dagwright's.

    DagwrightError
      ConfigurationError   the caller's setting is wrong or absent: said once, nothing was tried
      ModelError           no usable reply from a model: the governor, retry and structured calls answer it
      ToolError            a tool call went wrong: the agent shows it to its model

A constructor takes facts and builds the sentence; the facts stay as attributes, so nobody has to parse a message.
"""

from collections.abc import Iterable

from registry.usage import Kind, Usage


def there_are(wanted: str, known: Iterable[str]) -> str:
    """The tail of a 'no such name' sentence: the nearest name, and all that there are."""
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}there are: {', '.join(names) or 'none'}"


def unit_of(kind: str) -> str:
    """What a limit of this kind counts, as a word in a sentence."""
    return "dollars" if kind == "cost" else kind


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


class CircuitOpen(Unreachable):
    """The endpoint failed so often in a row that nobody asks it for a while: `retry_after` seconds. Nothing was sent.

    Except for the one request that found it still down, whose cost is in `usage`.
    """

    def __init__(self, endpoint: str, retry_after: float, *, usage: Usage | None = None) -> None:
        super().__init__(endpoint, f"it keeps failing, and is asked again in {retry_after:.3g} s", usage=usage)
        self.retry_after = retry_after


class Overloaded(ModelError):
    """The endpoint asks us to come back: its `status` is 408, 409, 425, 429, 5xx or 529, `retry_after` is seconds. None when not
    said.
    """

    status: int | None = None  # of recordings that were made before it was kept

    def __init__(self, endpoint: str, why: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        wait = "" if retry_after is None else f"; it asks to wait {retry_after:g} s"
        super().__init__(f"{endpoint} is overloaded: {why}{wait}")
        self.endpoint, self.why, self.status, self.retry_after = endpoint, why, status, retry_after


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


class OverBudget(ModelError):
    """The request may take more than is left, so it was not sent. `whose` budget: the run's or a step's.

    `kind` is what there is too little of: "tokens", "cost" (US dollars), "requests" or "seconds". `left` is how much there is,
    and `wanted` how much it may take; None for seconds, which nobody knows before.
    """

    def __init__(self, whose: str, kind: Kind, *, left: object, wanted: object = None) -> None:
        may_take = "" if wanted is None else f", and the request may take {wanted}"
        super().__init__(f"the budget of {whose} has {left} {unit_of(kind)} left{may_take}")
        self.whose, self.kind, self.left, self.wanted = whose, kind, left, wanted


class Unpriced(ModelError):
    """There is a budget in money, and nobody knows what this model charges: the request was not sent."""

    def __init__(self, model: str) -> None:
        super().__init__(f"nobody knows what {model!r} charges, and money is limited: give it a price, or allow unpriced models")
        self.model = model


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
    """The tool raised. A tool raises this itself for what another try would not change: the model reads why, and goes on."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"{tool!r} failed: {why}")
        self.tool, self.why = tool, why


class TryAgain(ToolError):
    """A tool asks for another call of it. `advice` tells the model what to do differently."""

    def __init__(self, advice: str) -> None:
        super().__init__(f"try again: {advice}")
        self.advice = advice


class ToolTimedOut(ToolError):
    """The tool did not answer in time. What it had begun may or may not have happened; if it `goes_on`, nothing can stop it."""

    def __init__(self, tool: str, seconds: float, *, goes_on: bool = False) -> None:
        still = "; it can't be stopped and may still be at work, and what comes of it is lost" if goes_on else ""
        super().__init__(f"{tool!r} did not answer within {seconds:g} s{still}")
        self.tool, self.seconds = tool, seconds


class ToolDenied(ToolError):
    """A policy forbids this call."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"{tool!r} may not be called so: {why}")
        self.tool, self.why = tool, why
