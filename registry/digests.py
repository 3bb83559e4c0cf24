"""One digest for JSON values: equal values have equal digests, in every process and on every machine."""

import json
from hashlib import blake2b

import orjson

from registry.messages import Json

_BYTES = 16


def canonical(value: Json) -> bytes:
    """The value as JSON with sorted keys and no spaces. Raises TypeError for what is not JSON."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Integers beyond 64 bits and lone surrogates are JSON too, but not for orjson.
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def digest(value: Json) -> str:
    """32 hexadecimal digits that stand for the value."""
    return blake2b(canonical(value), digest_size=_BYTES).hexdigest()


def digest_of(written: bytes) -> str:
    """The digest of a value that has been written as `canonical` already."""
    return blake2b(written, digest_size=_BYTES).hexdigest()
