"""Halves of characters beyond the basic plane: JSON can escape them one by one, UTF-8 can't hold them."""


def mended(text: str) -> str:
    """The text with matching halves joined and lone ones replaced by U+FFFD; untouched when there are none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def ends_in_half(text: str) -> bool:
    """Whether the other half of the last character is still to come."""
    return "\ud800" <= text[-1:] <= "\udbff"
