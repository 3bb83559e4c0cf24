"""What the Messages API says when it gives no reply, as a typed ModelError.

Its codes are read where those of all endpoints are. What is read here are three things that it says in words alone.
"""

import re
from collections.abc import Mapping

from registry.errors import ModelError, Refused, Unauthorized, WindowExceeded
from registry.messages import Json
from registry.wire import faults

_TOO_LONG = re.compile(r"exceeds? (the )?context limit|request (entity )?(is )?too large", re.IGNORECASE)
_NOT_PAID = re.compile(r"credit balance|usage limits?", re.IGNORECASE)


def fault(endpoint: str, status: int, headers: Mapping[str, str], body: bytes, *, model: str = "") -> ModelError:
    """The error that an answer of this status means. `model` is the one that was asked for."""
    return _sharpened(faults.fault(endpoint, status, headers, body, model=model))


def fault_inside(endpoint: str, error: Json) -> ModelError:
    """The error that the endpoint reports inside an answer which began as a success."""
    return _sharpened(faults.fault_inside(endpoint, error))


def _sharpened(error: ModelError) -> ModelError:
    match error:
        case Refused(status=413, endpoint=endpoint, why=why):
            return WindowExceeded(endpoint, why)
        case Refused(status=400, endpoint=endpoint, why=why) if _TOO_LONG.search(why):
            return WindowExceeded(endpoint, why)
        case Refused(status=400, endpoint=endpoint, why=why) if _NOT_PAID.search(why):
            return Unauthorized(endpoint, why)
    return error
