"""Arguments of constructors: valid values, mismatches and descriptions."""

import math
from typing import Annotated, Literal

import pytest
from pydantic import Field, PositiveFloat

from tfattn.config.arguments import REQUIRED, parse_argument
from tfattn.config.relations import Divides
from tfattn.config.types import Given, Part, Size

LAMP = {
    name: parse_argument(name, hint, REQUIRED, "")
    for name, hint in {
        "colours": dict[str, list[str]] | None,
        "weights": Literal["equal"] | dict[str, PositiveFloat],
        "watts": PositiveFloat,
        "seed": Annotated[int, Field(lt=2**31)],
        "stand": Annotated[Part("stands") | None, Divides("seed")],
        "start": type("Start", (), {}) | None,
        "wires": Size[int],
        "house": Given[int],
        "people": Given[list[str] | None],
    }.items()
}


def test_arguments_that_a_file_may_set():
    in_file = [name for name, found in LAMP.items() if found.in_file]
    assert in_file == ["colours", "weights", "watts", "seed", "stand", "wires"]


def test_marks_and_relations_are_found_at_any_depth():
    assert LAMP["stand"].nested.entry({"name": "oak"}, {}) == ("stands", "oak")
    assert LAMP["stand"].relations == (Divides("seed"),)
    assert LAMP["people"].given and not LAMP["people"].given.may_be_stated


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("colours", {"on": ["red"], "off": "black"}, [(("off",), "black")]),
        ("colours", {"on": ["red", 3], "off": ["black"]}, [(("on", 1), 3)]),
        ("weights", {"a": 1, "b": -1, "c": "x"}, [(("b",), -1), (("c",), "x")]),
        ("weights", "equl", [((), "equl")]),
        ("weights", {"a": 1.5}, []),
        ("watts", math.inf, [((), math.inf)]),
        ("watts", None, [((), None)]),
    ],
)
def test_check_lists_each_mismatch_in_a_value(name, value, wrong):
    assert LAMP[name].check(value) == wrong


def test_integer_bounds_are_written_as_integers():
    assert LAMP["seed"].expected() == "an integer < 2147483648"
