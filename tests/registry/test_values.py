"""Values of several kinds of the same thing."""

import msgspec
import pytest
from msgspec import Struct

from registry.values import Tagged, kind_of


class ShipSailed(Tagged, frozen=True, kw_only=True):
    port: str


class ShipSank(Tagged, frozen=True, kw_only=True):
    depth: float = 0.0


class Lighthouse(Struct, frozen=True, kw_only=True):
    height: float


SAILED = ShipSailed(port="Narvik")


def test_the_kind_is_the_name_of_the_class() -> None:
    """A value says of what kind it is, and so does its class."""
    assert ("ship_sailed", "ship_sank") == (SAILED.kind, kind_of(ShipSank))


def test_json_says_the_kind() -> None:
    """By its kind a value is read back as what it was."""
    written = msgspec.json.encode(SAILED)

    assert b'{"kind":"ship_sailed","port":"Narvik"}' == written
    assert SAILED == msgspec.json.decode(written, type=ShipSailed | ShipSank)


def test_a_class_without_kinds_has_none() -> None:
    """To ask for it is a fault of ours."""
    with pytest.raises(AssertionError, match="Lighthouse has no name in JSON"):
        kind_of(Lighthouse)
