"""Errors that come out of a task group as themselves."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sole_error() -> Iterator[None]:
    """A group that holds one kind of error is that error: callers catch what happened, not how the work was arranged.

    The group stays as its cause. A group of several kinds is raised as it is.
    """
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = list(_leaves(group))
        if len({type(leaf) for leaf in leaves}) > 1:
            raise
        raise leaves[0] from (group if len(leaves) > 1 else leaves[0].__cause__)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
