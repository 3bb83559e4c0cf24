"""The time, for models that would otherwise guess it."""

from collections.abc import Callable
from datetime import datetime

from registry.tools.function import tool
from registry.tools.tool import Tool


def clock_tool(now: Callable[[], datetime]) -> Tool:
    """The tool `current_time`, by the given clock."""

    @tool(effect="pure", trusted=True)
    async def current_time() -> str:
        """Tell today's date, the day of the week and the time of day."""
        moment = now()
        return f"{moment.isoformat(timespec='seconds')} ({_DAYS[moment.weekday()]})"

    return current_time


# strftime would name the days in the language of the machine.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
