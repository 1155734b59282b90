"""A small set of classes to configure."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import PositiveInt

from tfattn.config.relations import AtMost, Divides, OnlyWith
from tfattn.config.types import Part, Rate, Section, Size
from tfattn.errors import ConfigError


class Engine:
    """An engine.

    Args:
        power: in kilowatts.
        fuel: what it burns.
        cooling: the fraction of the power lost to cooling.
        serial: the serial number, which the program fills in.
    """

    def __init__(
        self,
        *,
        power: PositiveInt,
        fuel: Literal["diesel", "petrol"] = "diesel",
        cooling: Rate = 0.1,
        serial: Annotated[Size[int], AtMost("power")],
    ):
        if power > 900:
            raise ConfigError("too strong", key="power", expected="900 at most", received=str(power))
        self.power, self.fuel, self.cooling, self.serial = power, fuel, cooling, serial


class Motor:
    """An electric motor.

    Args:
        volts: the voltage.
    """

    def __init__(self, *, volts: float = 400.0):
        self.volts = volts


@dataclass(kw_only=True)
class Wheels:
    """Wheels.

    Args:
        count: the number of wheels.
        axles: the number of axles.
        sizes: in inches, by position.
        spikes: whether the tires have spikes.
        makers: the manufacturers.
    """

    count: PositiveInt = 4
    axles: Annotated[PositiveInt, Divides("count")] = 2
    sizes: dict[str, int] | None = None
    spikes: Annotated[bool, OnlyWith("sizes")] = False
    makers: list[str] = field(default_factory=list)


class Car:
    """A car.

    Args:
        name: the name.
        engine: the engine.
        spare: another engine.
        wheels: the wheels.
        note: any text.
    """

    def __init__(
        self,
        *,
        name: str,
        engine: Part("motors"),
        wheels: Annotated[Section("wheels"), AtMost("engine.power", inner="count", remedy="Wheels want power.")],
        spare: Part("motors") | None = None,
        note: str | None = None,
    ):
        self.name, self.engine, self.wheels, self.spare, self.note = name, engine, wheels, spare, note
