"""Digests of JSON values."""

import subprocess
import sys

import pytest

from registry.digests import canonical, digest, digest_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, id="order of keys"),
        pytest.param({"x": {"a": 1, "b": [2]}}, {"x": {"b": [2], "a": 1}}, id="order of inner keys"),
        pytest.param((1, 2), [1, 2], id="tuple and list"),
        pytest.param({"a": 10**30, "b": 1}, {"b": 1, "a": 10**30}, id="integers beyond 64 bits"),
        pytest.param(["\ud800", {"a": 1}], ["\ud800", {"a": 1}], id="lone surrogate"),
    ],
)
def test_equal_values(one, other):
    """Values that are the same JSON have the same digest."""
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param([1, 2], [2, 1], id="order of a list"),
        pytest.param("1", 1, id="text and number"),
        pytest.param(1, 1.0, id="integer and float"),
        pytest.param(True, 1, id="true and one"),
        pytest.param(None, "null", id="null and its name"),
        pytest.param(10**30, 10**30 + 1, id="large integers"),
        pytest.param(["a", "b"], ["a,b"], id="where an item ends"),
        pytest.param({"a": None}, {}, id="null and absent"),
    ],
)
def test_different_values(one, other):
    """Values that differ have different digests."""
    assert digest(one) != digest(other)


def test_form():
    """A digest is 32 lower-case hexadecimal digits of the canonical text, which has no spaces."""
    assert b'{"a":[1,"x"],"b":null}' == canonical({"b": None, "a": [1, "x"]})
    assert digest([1, "x"]) == digest_of(canonical([1, "x"])) == digest_of(b'[1,"x"]')
    assert 32 == len(digest("x"))
    assert set(digest("x")) <= set("0123456789abcdef")


def test_not_json():
    """What is no JSON value is refused."""
    with pytest.raises(TypeError):
        digest({"a": {1, 2}})


@pytest.mark.real_clock
def test_other_process():
    """Another process, with another hash seed, computes the same digest."""
    code = "from registry.digests import digest; print(digest({'b': [1, 'ü'], 'a': None}))"
    ran = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)

    assert digest({"a": None, "b": [1, "ü"]}) == ran.stdout.strip()
