"""What a tool makes for the user's eyes: a page, a report, a picture. The model reads only that it was made."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

from msgspec import Struct

_LONGEST_NAME = 80


class Artifact(Struct, frozen=True, kw_only=True):
    """A tool returns it, alone or within a list or mapping. `media_type` is such as "text/html" or "image/png".

    `content` is text, or where it is `base64` the text of bytes; `of_bytes` makes that. No text is ever taken for an artefact.
    Raises `ValueError` for content that is not the base64 that it is said to be.
    """

    name: str
    media_type: str
    content: str
    base64: bool = False

    def __post_init__(self) -> None:
        if self.base64:
            b64decode(self.content, validate=True)

    @classmethod
    def of_bytes(cls, content: bytes, *, name: str, media_type: str) -> "Artifact":
        """One that is no text."""
        return cls(name=name, media_type=media_type, content=b64encode(content).decode(), base64=True)

    @property
    def size(self) -> int:
        """In bytes."""
        return len(b64decode(self.content) if self.base64 else self.content.encode("utf-8", "replace"))

    @property
    def note(self) -> str:
        """What a model reads in its place."""
        return (
            f"[Artifact: {_shown(self.name)}, {_shown(self.media_type)}, {_told(self.size)}; shown to the user, do not repeat it]"
        )


def artifacts_in(result: object) -> tuple[Artifact, ...]:
    """The artefacts of a tool's result, in their order."""
    match result:
        case Artifact():
            return (result,)
        case list() | tuple():
            members: Iterable[object] = result
        case Mapping():
            members = result.values()
        case _:
            return ()
    return tuple(member for member in members if isinstance(member, Artifact))


def _shown(text: str) -> str:
    """A tool may have the name from anywhere: it can't end the note that it stands in."""
    return "".join(each if each.isprintable() and each not in "[]" else "_" for each in text[:_LONGEST_NAME])


def _told(size: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return f"{size} {unit}"
        size = round(size / 1_000)
    return f"{size} GB"
