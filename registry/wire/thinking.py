"""Parts a leading `<think>...</think>` block from what a model says. Think tags elsewhere are only talk about them."""

from typing import Literal

from registry.messages import ReasoningPiece, TextPiece

OPEN, CLOSE = "<think>", "</think>"

Pieces = list[TextPiece | ReasoningPiece]


class ThinkSplitter:
    """Parts a text that arrives in pieces.

    A block that never closes was thinking when the reply was cut off, and plain text otherwise: `end` is told which.
    """

    __slots__ = ("_pending", "_reasoning", "_state", "_text")

    def __init__(self) -> None:
        self._state: Literal["start", "inside", "after", "said"] = "start"
        self._pending = ""
        self._reasoning: list[str] = []
        self._text: list[str] = []

    @property
    def text(self) -> str:
        """What was said so far, without the block."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """What the block held so far."""
        return "".join(self._reasoning).strip()

    def feed(self, new: str) -> Pieces:
        """The pieces that are certain by now."""
        if self._state == "said" and new:
            self._text.append(new)
            return [TextPiece(new)]
        self._pending += new
        match self._state:
            case "start":
                return self._begin()
            case "inside":
                return self._think()
            case "after":  # the white space after the block belongs to neither side
                self._pending = self._pending.lstrip()
                self._state = "said" if self._pending else "after"
        return self._say(self._taken())

    def end(self, *, cut_off: bool) -> Pieces:
        """The pieces that were held back. `cut_off` is whether a token cap ended the reply."""
        if self._state != "inside":
            return self._say(self._taken())
        if cut_off:
            return self._muse(self._taken())
        whole = OPEN + "".join(self._reasoning) + self._taken()
        self._reasoning = []
        return self._say(whole)

    def _begin(self) -> Pieces:
        start = self._pending.lstrip()
        if not start.startswith(OPEN):
            if OPEN.startswith(start):
                return []
            self._state = "said"
            return self._say(self._taken())
        self._state, self._pending = "inside", start.removeprefix(OPEN)
        return self._think()

    def _think(self) -> Pieces:
        thought, close, after = self._taken().partition(CLOSE)
        if close:
            self._state = "after"
            return self._muse(thought) + self.feed(after)
        kept = next((n for n in range(len(CLOSE) - 1, 0, -1) if thought.endswith(CLOSE[:n])), 0)
        certain = len(thought) - kept
        self._pending = thought[certain:]
        return self._muse(thought[:certain])

    def _taken(self) -> str:
        taken, self._pending = self._pending, ""
        return taken

    def _say(self, text: str) -> Pieces:
        self._text.append(text)
        return [TextPiece(text)] if text else []

    def _muse(self, text: str) -> Pieces:
        self._reasoning.append(text)
        return [ReasoningPiece(text)] if text else []


def split_thinking(text: str, *, cut_off: bool = False) -> tuple[str, str]:
    """The reasoning and the rest of a whole text."""
    if OPEN not in text:
        return "", text
    splitter = ThinkSplitter()
    splitter.feed(text)
    splitter.end(cut_off=cut_off)
    return splitter.reasoning, splitter.text
