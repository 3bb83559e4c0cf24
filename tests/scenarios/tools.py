"""A tool for each class of effects, all on the same outside."""

import anyio.lowlevel

from registry.builtin.asking import ask_user
from registry.calls import Call
from registry.tools.function import FunctionTool
from registry.tools.tool import ABSENT, Effect, Tool
from tests.scenarios.outside import Execution, Outside

BERTHS = {"north": "12 berths", "south": "30 berths"}


class Toolbox:
    """The tools of every scenario. What a call returns depends on its arguments alone."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    def tools(self) -> list[Tool]:
        return [
            FunctionTool(self.measure, effect="pure"),
            FunctionTool(self.log, effect="keyed", retries=1),
            FunctionTool(self.pay, effect="transactional", probe=self.receipt),
            FunctionTool(self.post, effect="unkeyed"),
            FunctionTool(self.publish, effect="unkeyed", requires_approval=True),
            ask_user,
        ]

    async def measure(self, harbour: str, call: Call) -> str:
        """Measure a harbour."""
        return await self._happen("measure", "pure", harbour, call, BERTHS.get(harbour, f"{harbour} is {len(harbour)} deep"))

    async def log(self, line: str, call: Call) -> str:
        """Write into the log book. A smudged line has to be written twice."""
        smudged = line.startswith("smudged") and not self._executions(call.key)
        result = await self._happen("log", "keyed", line, call, f"logged: {line}")
        if smudged:
            raise OSError("the ink ran")
        return result

    async def pay(self, payee: str, call: Call) -> str:
        """Pay somebody."""
        return await self._happen("pay", "transactional", payee, call, f"paid: {payee}")

    async def receipt(self, key: str) -> object:
        """What the books say about a payment."""
        paid = self._executions(key)
        return paid[0].result if paid else ABSENT

    async def post(self, letter: str, call: Call) -> str:
        """Post a letter."""
        return await self._happen("post", "unkeyed", letter, call, f"posted: {letter}")

    async def publish(self, notice: str, call: Call) -> str:
        """Publish a notice, which somebody must have allowed."""
        return await self._happen("publish", "unkeyed", notice, call, f"published: {notice}")

    async def _happen(self, tool: str, effect: Effect, about: str, call: Call, result: str) -> str:
        await anyio.lowlevel.checkpoint()
        self._outside.happen(Execution(tool=tool, effect=effect, key=call.key, about=about, result=result))
        await anyio.lowlevel.checkpoint()
        return result

    def _executions(self, key: str) -> list[Execution]:
        return [each for each in self._outside if each.key == key]
