"""Errors come out of task groups as themselves."""

import anyio
import pytest

from orchestrator.unwrapping import sole_error
from registry.loops import on_trio

pytestmark = pytest.mark.anyio


async def fail(error: Exception) -> None:
    raise error


async def grouped(*errors: Exception) -> None:
    with sole_error():
        async with anyio.create_task_group() as group:
            for error in errors:
                group.start_soon(fail, error)


async def test_one_error_is_itself() -> None:
    """A single failure comes out as the very object that was raised, with the cause that it had."""
    boom = ValueError("boom")
    boom.__cause__ = KeyError("why")

    with pytest.raises(ValueError, match="boom") as caught:
        await grouped(boom)

    assert boom is caught.value
    assert "KeyError('why')" == repr(caught.value.__cause__)


async def test_several_of_a_kind_are_one() -> None:
    """Of several errors of one kind the first is raised, and the group is its cause."""
    with pytest.raises(ValueError, match="first") as caught, sole_error():
        raise ExceptionGroup("both", [ValueError("first"), ValueError("second")])

    assert isinstance(caught.value.__cause__, ExceptionGroup)


async def test_one_error_in_two_tasks_is_itself() -> None:
    """An error that reached two tasks is one error, and not its own cause."""
    boom = ValueError("boom")

    with pytest.raises(ValueError, match="boom") as caught, sole_error():
        raise ExceptionGroup("twice", [boom, boom])

    assert caught.value.__cause__ is None


async def test_different_errors_stay_together() -> None:
    """None of several kinds is dropped."""
    with pytest.raises(ExceptionGroup) as caught, sole_error():
        raise ExceptionGroup("both", [ValueError(), KeyError()])

    assert [ValueError, KeyError] == [type(error) for error in caught.value.exceptions]


async def test_a_group_of_somebody_elses_is_an_error_like_any_other() -> None:
    """What the caller raised comes out as it was raised, even where that is a group."""
    theirs = ExceptionGroup("theirs", [ValueError("a"), ValueError("b")])

    with pytest.raises(ExceptionGroup) as caught:
        await grouped(theirs)

    assert (theirs.message, theirs.exceptions) == (caught.value.message, caught.value.exceptions)


async def test_no_error_is_no_error() -> None:
    """A block that ends well is left alone, and so is a bare error."""
    with sole_error():
        pass
    with pytest.raises(KeyError), sole_error():
        raise KeyError("bare")


async def test_ctrl_c_is_itself() -> None:
    """Whatever else came of it, who started the program sees what was pressed: on asyncio by the loop's own doing."""
    pressed = KeyboardInterrupt()
    group = BaseExceptionGroup("all", [ValueError("a"), pressed, KeyError("b")])

    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)) as caught, sole_error():
        raise group

    assert caught.value is (pressed if on_trio() else group)
