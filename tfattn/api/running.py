"""Runs of pipelines from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tfattn import native

if TYPE_CHECKING:
    from tfattn.runs.run import Run


def run(
    pipeline: str | Path | Mapping[str, Any],
    *,
    until: Literal["prepare", "train", "evaluate", "export"] | None = None,
    force: bool = False,
    **overrides: Any,
) -> "Run":
    """Run a pipeline: prepare, train, evaluate and export. Stages whose inputs have not changed are skipped.

    Args:
        pipeline: a pipeline file, its content as a dictionary, or a `tfattn.Pipeline`.
        until: the last stage; None runs all stages.
        force: whether to run `until`, or all stages, even if nothing has changed.
        overrides: the values of keys, and keys of sections, that replace those of the pipeline.

    Returns:
        the run, with its metrics, history, predictions, report, members and export.

    Raises:
        ConfigError: the configuration has errors; all of them are reported together.
        DataError: the rows have errors.

    Example:
        >>> run = tfattn.run("pipelines/factory_reports.yaml", training={"epochs": 3}, seed=1)
        >>> run.metrics["accuracy"]
        0.9583333333333334
        >>> run.predictions.head()
    """
    stages = native.with_tensorflow("tfattn.stages")
    opened = stages.open_run(pipeline, overrides)
    stages.run(opened, until, force=force)
    return opened
