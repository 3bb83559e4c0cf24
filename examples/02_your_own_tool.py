"""Functions of your own as tools: what a model is told of them, and what happens when it gets them wrong. Runs offline.

    python examples/02_your_own_tool.py

A tool is a function with type hints and a docstring. Nothing runs before its arguments fit, and whatever goes wrong becomes an
observation that the model reads and can act on.
"""

from typing import Annotated

import anyio
from pydantic import BaseModel, Field

from orchestrator import ReActAgent
from registry import Call, ToolFailed, TryAgain, tool
from registry.testing import ScriptedModel, asks

STOCK = {"Dune": 3, "Dune Messiah": 0, "Emma": 1}
ORDERS: dict[str, str] = {}


# "pure" says that it only reads: it may run beside other such calls, and again. It is not async, so it runs in a thread
# and may block; after two seconds nobody waits for it any more.
@tool(effect="pure", timeout=2)
def find_books(query: str, most: int = 5) -> list[str]:
    """Find books by a part of their title.

    Args:
        query: the part, in any case
        most: how many to return
    """
    return [title for title in STOCK if query.lower() in title.lower()][:most]


class Address(BaseModel):
    """Parameters may be models of pydantic's: the model sees their schema, the function gets them validated."""

    name: str
    postcode: Annotated[str, Field(pattern=r"^\d{5}$")]


# "keyed" says that it is safe to repeat with our key. A tool that declares nothing is never repeated when its outcome isn't
# known. With requires_approval=True a person would be asked before each order, and the run would wait for the answer.
@tool(effect="keyed")
async def order(title: str, to: Address, call: Call) -> str:
    """Order a book.

    Args:
        title: the whole title, as find_books writes it
        to: who gets it
    """
    if title not in STOCK:
        raise TryAgain(f"there is no book {title!r}; write the title as find_books does")  # it can do better
    if not STOCK[title]:
        raise ToolFailed("order", f"{title!r} is sold out")  # it can't, and goes on
    # `call` is given by the engine and not shown to the model. Its key is the same whenever this call is repeated, after a
    # crash too: so two orders of one key are one order.
    ORDERS.setdefault(call.key, title)
    return f"{title!r} goes to {to.name}, {to.postcode}"


SCRIPT = [
    asks("find_books", query="dune"),
    asks("order", title="dune", to={"name": "Ada", "postcode": "69001"}),
    asks("order", title="Dune", to={"name": "Ada", "postcode": "69-001"}),
    asks("order", title="Dune Messiah", to={"name": "Ada", "postcode": "69001"}),
    asks("order", title="Dune", to={"name": "Ada", "postcode": "69001"}),
    "Dune is on its way to Ada. Dune Messiah is sold out.",
]


async def main() -> None:
    print(order.spec.name, "-", order.spec.description)
    for name, schema in order.spec.parameters["properties"].items():
        print("  takes", name, "-", schema["description"])
    print("called as before:", find_books("emma"))

    agent = ReActAgent(ScriptedModel(SCRIPT), [find_books, order])
    async with agent.open("Send Ada, 69001, the two books about Dune") as run:
        async for recorded in run.events:
            match recorded.event.kind:
                case "tool_started":
                    print(recorded.event.tool, recorded.event.arguments)
                case "tool_ended":
                    print("  ->", recorded.event.observation.text)
        print((await run.result()).answer)
    print("orders:", *ORDERS.values())


anyio.run(main)
