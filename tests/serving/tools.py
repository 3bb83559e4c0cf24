"""The tools of a server that the tests start: `--tools tests.serving.tools:TOOLS`."""

import os
from pathlib import Path

import anyio

from registry.tools.function import tool
from tests.scenarios.outside import Folder
from tests.scenarios.tools import Toolbox


@tool(effect="pure")
async def pause(seconds: float, letters: int) -> str:
    """Say so many letters after so many seconds."""
    await anyio.sleep(seconds)
    return "x" * letters


_OUTSIDE = Folder(Path(os.environ.get("STAGE", ""), "outside"), int(os.environ.get("LIFE", "1")))

TOOLS = [each for each in Toolbox(_OUTSIDE).tools() if each.spec.name != "ask_user"]
"""`STAGE` is the folder that holds what happens outside, `LIFE` the number of the process."""
