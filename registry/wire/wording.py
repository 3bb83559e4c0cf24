"""One request on its way to an endpoint, said anew where the endpoint refuses how it is said."""

from typing import TypeVar

from msgspec.structs import replace

from registry.errors import ModelError, Refused
from registry.governor.retry import cost_of
from registry.messages import Piece, Reply, Request
from registry.usage import Usage
from registry.wire.learning import adjusted, learn, learnt
from registry.wire.lower import lower
from registry.wire.rules import WireRules

P = TypeVar("P", bound=Piece)


class Wording:
    """The `body` to send, by what is known of the endpoint so far.

    When sending it fails, `amended` says whether there is another body to send at once; what came back otherwise goes through
    `taken`. A lesson counts from the moment when the endpoint takes the request that heeds it.
    """

    def __init__(self, request: Request, *, endpoint: str, model: str, rules: WireRules, stream: bool = False) -> None:
        self._request, self._endpoint, self._model, self._stream = request, endpoint, model, stream
        self._first = self._rules = learnt(endpoint, model, rules)
        self._refused = 0
        self._taken = False
        self.body = self._said_by(self._rules)

    def amended(self, error: ModelError) -> bool:
        """Whether `body` is now another one, worth sending. If not, the error has what the refused ones cost added to it."""
        if isinstance(error, Refused) and not self._taken and self._reworded(error):
            self._refused += 1
            return True
        if self._refused:
            error.usage = Usage(requests=self._refused) + cost_of(error)
        return False

    def taken(self, piece: P) -> P:
        """A piece of the reply, or all of it. The whole one covers the refused requests too."""
        if not self._taken:
            self._taken = True
            learn(self._endpoint, self._model, before=self._first, after=self._rules)
        if self._refused and isinstance(piece, Reply):
            return replace(piece, usage=Usage(requests=self._refused) + piece.usage)
        return piece

    def _reworded(self, refusal: Refused) -> bool:
        """Give up what was refused until that changes the body. What was not sent can't have been the cause."""
        rules = self._rules
        while (fewer := adjusted(rules, refusal, cap=self._request.max_tokens)) is not None:
            rules, body = fewer, self._said_by(fewer)
            if body != self.body:
                self._rules, self.body = rules, body
                return True
        return False

    def _said_by(self, rules: WireRules) -> bytes:
        return lower(self._request, model=self._model, rules=rules, stream=self._stream)
