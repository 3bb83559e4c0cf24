"""Frames around text that somebody else wrote, which that text can't close."""

import re

from registry.digests import digest
from registry.messages import Json

_FRAMES = "result|history"
"""The words that frames are named by. A tag with one of them, in whatever case, is broken up where it stands inside a frame."""

_TAG = re.compile(rf"<(?=[\s/]*[\w.:-]*(?:{_FRAMES}))", re.IGNORECASE)
_FRAMED = re.compile(rf"(<((?:{_FRAMES})-[0-9a-f]+)>\n)(.*)(\n</\2>)", re.DOTALL)


def tag(word: str, *seed: Json) -> str:
    """The name of a frame: nobody who doesn't know all of `seed` can guess it, and it is the same whenever it is worked out."""
    return f"{word}-{digest(list(seed))[:10]}"


def framed(text: str, name: str) -> str:
    """The text between an opening and a closing tag, the only ones of their kind in there."""
    harmless = _TAG.sub("&lt;", text)
    return f"<{name}>\n{harmless}\n</{name}>"


def unframed(text: str) -> tuple[str, str, str]:
    """The opening of a frame, what it holds, and its end; the text alone where there is no frame around it."""
    found = _FRAMED.fullmatch(text)
    return (found[1], found[3], found[4]) if found else ("", text, "")
