"""A model whose replies are kept in a file: asked once, replayed ever after. A test so made needs no key and no network.

    async with RecordedModel(model_or_none, "harbours.json") as model:
        answer = await Orchestrator(model, ports=ports).run(goal)

A run tells its models the date, so the ports of a recorded one are to have a clock that stands still.
"""

from registry.recording.model import NotRecorded, RecordedModel

__all__ = ["NotRecorded", "RecordedModel"]
