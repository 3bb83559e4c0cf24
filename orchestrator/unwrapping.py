"""Errors that come out of a task group as themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

from registry.loops import on_asyncio


@contextmanager
def sole_error() -> Iterator[None]:
    """A group that holds one kind of error is that error: callers catch what happened, not how the work was arranged.

    Where there were several of the kind the first is raised, and the group stays as its cause. A group of several kinds is
    raised as it is, but for a KeyboardInterrupt: beside it nothing counts. A group within the group was somebody else's, and
    counts as one error.

    On asyncio a KeyboardInterrupt has left the loop already, and a bare one from here would break off its clean-up: threads that
    nobody stops then keep the program from ending. So there its group stays a group.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        errors = list(dict.fromkeys(group.exceptions))  # one error may have reached several tasks
        pressed = [error for error in errors if isinstance(error, KeyboardInterrupt)]
        errors = [*pressed] or errors
        if len({type(error) for error in errors}) > 1 or (pressed and on_asyncio()):
            raise
        raise errors[0] from (group if len(errors) > 1 else errors[0].__cause__)
