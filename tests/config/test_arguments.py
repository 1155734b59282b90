"""A constructor's signature as the schema of its section."""

import math
from typing import Annotated, Literal

import keras
import pytest
from pydantic import Field, PositiveFloat

from tfattn.config.arguments import arguments, check_constructor
from tfattn.config.types import Given, Size
from tfattn.errors import ConfigError


class Lamp:
    def __init__(
        self,
        *,
        colours: dict[str, list[str]] | None = None,
        weights: Literal["equal"] | dict[str, PositiveFloat] = "equal",
        watts: PositiveFloat = 3.0,
        seed: Annotated[int, Field(lt=2**31)] = 7,
        start: keras.initializers.Initializer | None = None,
        wires: Size[int],
        house: Given[int],
        people: Given[list[str] | None] = None,
    ):
        pass


LAMP = arguments(Lamp)


def test_what_a_file_may_state():
    in_file = [name for name, argument in LAMP.items() if argument.in_file]
    assert in_file == ["colours", "weights", "watts", "seed", "wires"]


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
def test_each_wrong_place_in_a_value_is_found(name, value, wrong):
    assert LAMP[name].check(value) == wrong


def test_whole_numbers_are_written_whole():
    assert LAMP["seed"].expected() == "an integer < 2147483648"


class Positional:
    def __init__(self, watts: float, *, colour: str = "red"):
        pass


class Object:
    def __init__(self, *, start: keras.initializers.Initializer):
        pass


class Unknown:
    def __init__(self, *, start: "Nowhere"):  # noqa: F821 (what a user may forget to import)
        pass


@pytest.mark.parametrize(
    ("constructor", "message"),
    [
        (Positional, r"Positional: expected keyword arguments, after a `\*`, received watts"),
        (Object, "Object: expected types that YAML has, or defaults, received start"),
        (Unknown, r"the types of the arguments of .*Unknown cannot be read \(name 'Nowhere' is not defined\)"),
    ],
)
def test_a_class_that_no_section_can_be_built_from_is_refused(constructor, message):
    with pytest.raises(ConfigError, match=message):
        check_constructor(constructor)


def test_a_class_without_arguments_or_text_will_do():
    class Bare:
        pass

    check_constructor(Bare)
    check_constructor(Lamp)
    assert arguments(Bare) == {}
