"""The contract of engines, which run the units of a step in local processes or on a cluster."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tfattn import registry
from tfattn.data.engines.results import Folder, done


class Unit(Protocol):
    """A unit of work of a step; its name is the name of its result in the folder of the step."""

    name: str


Step = Callable[[Any, Any], None]


@dataclass(frozen=True)
class Elsewhere:
    """The setup of another process that runs units.

    Attributes:
        make: creates the `Work` of all units, see tfattn.data.preparation.units.
        plugins: the plugins that are registered in this process.
        path: the module search path of this process.
    """

    make: Callable[[], Any]
    plugins: tuple[str, ...] = field(default_factory=lambda: tuple(registry.PLUGINS))
    path: tuple[str, ...] = field(default_factory=lambda: tuple(sys.path))

    def begin(self) -> Any:
        """Set up this process, and create its `Work`."""
        sys.path += [entry for entry in self.path if entry not in sys.path]
        for plugin in self.plugins:
            if plugin not in registry.PLUGINS:
                registry.register(plugin)
        return self.make()


class Engine:
    """The contract: an engine runs the units of a step, in any order, in processes that a subclass defines."""

    def check(self) -> None:
        """Check the engine before any data is read.

        Raises:
            ConfigError: a package is not installed, or an option is wrong.
        """

    def close(self) -> None:
        """Stop the processes of the engine, after all steps."""

    def run(self, step: Step, units: Sequence[Unit], work: Any, make: Callable[[], Any] | None) -> None:
        """Run all units that have no result yet.

        Args:
            step: function of the work and a unit, which writes its result to the folder of the work.
            units: all units of the step.
            work: the `Work` of all units, see tfattn.data.preparation.units.
            make: creates the same work in another process; None if all units must run in this process.

        Raises:
            TfattnError: a unit fails; the error of the first failed unit.
        """
        remaining_units = remaining(step, units, work.folder)
        if make is None:
            for unit in remaining_units:
                step(work, unit)
        elif remaining_units:
            self.do(step, remaining_units, work, Elsewhere(make), total=len(units))

    def do(self, step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, *, total: int) -> None:
        """Run at least one unit.

        Args:
            step: the function to run.
            units: the remaining units.
            work: the work in this process.
            elsewhere: the setup of another process.
            total: number of all units of the step.

        Raises:
            TfattnError: a unit fails; the error of the first failed unit.
        """
        raise NotImplementedError


def remaining(step: Step, units: Sequence[Unit], folder: Folder) -> list[Any]:
    """List the units that have no result in the folder of the work."""
    found = done(folder / step.__name__)
    return [unit for unit in units if unit.name not in found]
