"""A small set of parts to configure, in place of the real ones."""

import textwrap
from typing import Literal

import pytest
from pydantic import PositiveInt

from tfattn import catalog
from tfattn.config.types import Part, Rate, Section, Size
from tfattn.errors import ConfigError


class Engine:
    """An engine.

    Args:
        power: in kilowatts.
        fuel: what it burns.
        cooling: how much of it is cooled away.
        serial: known only to the works.
    """

    def __init__(
        self,
        *,
        power: PositiveInt,
        fuel: Literal["diesel", "petrol"] = "diesel",
        cooling: Rate = 0.1,
        serial: Size[int],
    ):
        if power > 900:
            raise ConfigError("too strong", key="power", expected="900 at most", received=str(power))
        self.power, self.fuel, self.cooling, self.serial = power, fuel, cooling, serial


class Motor:
    """An electric one.

    Args:
        volts: tension.
    """

    def __init__(self, *, volts: float = 400.0):
        self.volts = volts


class Wheels:
    """Wheels.

    Args:
        count: how many.
        sizes: in inches, by place.
    """

    def __init__(self, *, count: PositiveInt = 4, sizes: dict[str, int] | None = None):
        self.count, self.sizes = count, sizes


class Car:
    """A car.

    Args:
        name: what it is called.
        engine: what drives it.
        spare: what drives it otherwise.
        wheels: what it rolls on.
        note: anything.
    """

    def __init__(
        self,
        *,
        name: str,
        engine: Part("engines"),
        wheels: Section("wheels"),
        spare: Part("engines") | None = None,
        note: str | None = None,
    ):
        self.name, self.engine, self.wheels, self.spare, self.note = name, engine, wheels, spare, note


@pytest.fixture
def car(tmp_path, monkeypatch):
    """Writes a pipeline of those parts; returns its path. Other files can stand beside it."""
    engines = {"engine": f"{__name__}:Engine", "motor": f"{__name__}:Motor"}
    monkeypatch.setitem(catalog.CATALOGS, "engines", engines)
    monkeypatch.setattr(catalog, "load", lambda target, listed_by="": globals()[target.split(":")[1]])
    monkeypatch.setattr(catalog, "SECTIONS", {"pipeline": "x:Car", "wheels": "x:Wheels"})

    def write(text, name="car.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    monkeypatch.chdir(tmp_path)
    return write
