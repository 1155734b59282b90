"""The contract of what does the units of a step: processes of this machine, or a cluster."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tfattn import registry
from tfattn.data.results import Folder, done


class Unit(Protocol):
    """A piece of a step; its name is that of its result, in the folder of the step."""

    name: str


Step = Callable[[Any, Any], None]


@dataclass(frozen=True)
class Elsewhere:
    """What another process needs to do units.

    Attributes:
        make: makes what all units are done with, see tfattn.data.units.
        plugins: that were registered in this process.
        path: where this process looks for modules.
    """

    make: Callable[[], Any]
    plugins: tuple[str, ...] = field(default_factory=lambda: tuple(registry.PLUGINS))
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))

    def begin(self) -> Any:
        """Make in this process what its units are done with."""
        sys.path += [entry for entry in self.path if entry not in sys.path]
        for plugin in self.plugins:
            if plugin not in registry.PLUGINS:
                registry.register(plugin)
        return self.make()


class Engine:
    """The contract: an engine does the units of a step, in any order; a subclass says in which processes."""

    def check(self) -> None:
        """Refuse, before anything is read, what this engine cannot work with.

        Raises:
            ConfigError: something is not installed, or an option is wrong.
        """

    def close(self) -> None:
        """End what was started for units, once all steps are done."""

    def run(self, step: Step, units: Sequence[Unit], work: Any, make: Callable[[], Any] | None) -> None:
        """Do all units that are not done yet.

        Args:
            step: what is done with each: given the work and the unit, it leaves its result in the folder of the work.
            units: all of them.
            work: what all units are done with, see tfattn.data.units; it has a `folder`.
            make: makes the same in another process; None where it cannot be made there.

        Raises:
            TfattnError: a unit cannot be done; of several the first.
        """
        left = left_of(step, units, work.folder)
        if make is None:
            for unit in left:
                step(work, unit)
        elif left:
            self.do(step, left, work, Elsewhere(make), total=len(units))

    def do(self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, *, total: int) -> None:
        """Do some units, one at least.

        Args:
            step: what is done with each.
            units: which are left.
            work: what they are done with in this process.
            elsewhere: what another process needs.
            total: how many the step has.

        Raises:
            TfattnError: a unit cannot be done; of several the first.
        """
        raise NotImplementedError


def left_of(step: Step, units: Sequence[Unit], folder: Folder) -> list[Any]:
    """List the units whose results do not stand in the folder of the work."""
    found = done(folder / step.__name__)
    return [unit for unit in units if unit.name not in found]
