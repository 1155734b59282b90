"""Evaluation of a model on new rows from Python."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfattn import native
from tfattn.api.model import Model

if TYPE_CHECKING:
    from tfattn.evaluation.new_rows import NewRowsEvaluation


def evaluate(
    model: "str | Path | Model", rows: Any, *, output: str | Path | None = None, **options: Any
) -> "NewRowsEvaluation":
    """Evaluate a model on new rows with true targets: metrics with intervals, predictions, drift and a report.

    Args:
        model: an export's folder or name, a run's folder, the address of a model on a server, or a loaded model.
        rows: a file that `tfattn predict` reads, or a DataFrame.
        output: the folder of the results; by default `evaluations/MODEL/NAME-OF-FILE`.
        options: the other arguments of `evaluate_rows`, such as `target` or `unknown_labels="wrong"`.

    Raises:
        ConfigError: the model predicts neither labels nor numbers.
        DataError: the rows cannot be read, or have no targets.
        ServingError: there is no such model.

    Example:
        >>> tfattn.evaluate("factory_reports", "gold.csv").metrics["accuracy"]
        0.94
    """
    new_rows = native.with_tensorflow("tfattn.evaluation.new_rows")
    opened = model.predictor if isinstance(model, Model) else model
    if not hasattr(rows, "to_csv"):
        return new_rows.evaluate_rows(opened, rows, output=output, **options)
    with tempfile.TemporaryDirectory(prefix="tfattn-") as folder:
        path = Path(folder) / "frame.csv"
        rows.to_csv(path, index=False)
        return new_rows.evaluate_rows(opened, path, output=output, **{"format": "csv", **options})
