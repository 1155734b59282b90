"""The units of a step as a pipeline of Apache Beam."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam
from apache_beam.runners.runner import PipelineState

from tfattn import errors, files
from tfattn.data.engines import results
from tfattn.data.engines.beam_options import DEFAULT_RUNNER, checked
from tfattn.data.engines.engine import Elsewhere, Step
from tfattn.data.engines.results import Folder
from tfattn.errors import TfattnError

FAILED = "failed"
_ERROR = "error.json"


@dataclass(frozen=True)
class Failure:
    """The error of a unit, which a worker writes as a result for the main process."""

    kind: str
    what: str
    where: str
    expected: str
    received: str
    remedy: str

    @staticmethod
    def of(error: TfattnError) -> "Failure":
        """Create the record of an error."""
        kind, details = type(error).__name__, (error.where, error.expected, error.received, error.remedy)
        return Failure(kind, error.what, *details)

    def error(self) -> TfattnError:
        """Recreate the error."""
        kind = getattr(errors, self.kind, TfattnError)
        details = {"where": self.where, "expected": self.expected, "received": self.received, "remedy": self.remedy}
        return kind(self.what, **details)


class DoUnits(beam.DoFn):
    """The units that a worker runs.

    Args:
        step: the function to run.
        elsewhere: the setup of the worker.
        failed: folder of errors. Errors are not raised, because Beam would retry the unit.
    """

    def __init__(self, step: Step, elsewhere: Elsewhere, failed: Folder):
        self._step, self._elsewhere, self._failed = step, elsewhere, failed

    def setup(self) -> None:
        self._work = self._elsewhere.begin()

    def process(self, unit: Any) -> Iterator[None]:
        if not results.done(self._failed):
            try:
                self._step(self._work, unit)
            except TfattnError as error:
                with results.result(self._failed, unit.name) as folder:
                    files.write_json(folder / _ERROR, asdict(Failure.of(error)))
        yield from ()


def run(step: Step, units: list[Any], work: Any, elsewhere: Elsewhere, options: dict[str, Any]) -> None:
    """Run units, and wait for them.

    Raises:
        TfattnError: a unit or the runner fails.
    """
    failed = (work.folder / FAILED).absolute()
    results.remove(failed)
    settings, runner = checked(options)
    pipeline = beam.Pipeline(runner, options=settings)
    _ = (
        pipeline
        | "units" >> beam.Create(units)
        | "to all workers" >> beam.Reshuffle()
        | step.__name__ >> beam.ParDo(DoUnits(step, elsewhere, failed))
    )
    try:
        state = pipeline.run().wait_until_finish()
    except Exception as error:  # each runner has its own
        raise _of_runner(options, f"{type(error).__name__}: {error}") from error
    if errors_found := results.done(failed):
        with results.on_disk(results.opened(failed, min(errors_found))) as folder:
            raise files.read_json(folder / _ERROR, Failure).error()
    if state != PipelineState.DONE:
        raise _of_runner(options, f"a job that is {state}")


def _of_runner(options: dict[str, Any], received: str) -> TfattnError:
    """Create the error of a runner from the last line of the traceback in its message."""
    return TfattnError(
        "Apache Beam could not run the step",
        where=f"data.engine.options.runner: {options.get('runner', DEFAULT_RUNNER)}",
        received=received.strip().splitlines()[-1][:300],
        remedy="Look into the logs of its workers; the same command resumes from the finished units.",
    )
