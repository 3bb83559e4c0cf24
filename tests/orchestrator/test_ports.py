"""The world outside, as a run reaches it by default."""

from datetime import UTC, datetime, timedelta

from orchestrator.ports import Ports


def test_the_real_world() -> None:
    """The clock has a time zone, ids differ and can stand in a file name, and jitter lies in [0, 1)."""
    ports = Ports()

    assert timedelta(0) == ports.now().utcoffset()
    assert abs(datetime.now(UTC) - ports.now()) < timedelta(minutes=1)
    ids = {ports.new_id() for _ in range(100)}
    assert 100 == len(ids)
    assert all(each.isalnum() and len(each) == 12 for each in ids)
    assert all(0 <= ports.jitter() < 1 for _ in range(100))
