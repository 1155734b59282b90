"""Commands that check the quality of data: label errors, and drift of new rows."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder
from tfattn.cli.pipelines import Overrides, Pipeline, Plugins
from tfattn.formats.file_formats import InputKind

app = typer.Typer()


@app.command()
def drift(
    model: Annotated[
        str,
        typer.Argument(help="An export's folder, its name under saved_models/, or a run's folder."),
    ],
    file: Annotated[Path, typer.Argument(help="A file of new rows, without targets: csv, tsv, jsonl, ...")],
    fail: Annotated[
        bool, typer.Option("--fail", help="Exit with status 3 if an input or the predictions have drifted.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", help="The folder of the results; by default drift/MODEL/FILE.")
    ] = None,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="The format of the file, if its suffix does not determine it."),
    ] = None,
    folder: Folder = Path("saved_models"),
) -> None:
    """Compare new rows with the training rows of an export: inputs and predictions; a table, a page, drift.json."""
    measure = loading.with_tensorflow("tfattn.evaluation.new_rows_drift").measure_drift
    if measure(model, file, output=output, format=format, folder=folder).is_drift and fail:
        raise typer.Exit(3)


@app.command("label-errors")
def label_errors(
    pipeline: Pipeline,
    scores: Annotated[
        str,
        typer.Option(
            "--scores",
            help="The origin of the scores: baseline (scikit-learn), an encoder such as minilm, or run, the trained "
            "models; by default minilm for English texts, baseline for others.",
        ),
    ] = "auto",
    folds: Annotated[int, typer.Option("--folds", min=2, help="The number of folds, except of a run.")] = 5,
    output: Annotated[
        Path | None, typer.Option("--output", help="The folder of the results; by default label_errors/NAME.")
    ] = None,
    set: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Find rows whose label is probably wrong: a list, a page, and the noise of each class."""
    loading.register(plugin)
    find = loading.with_tensorflow("tfattn.label_errors").label_errors
    find(pipeline, set, scores=scores, folds=folds, output=output)
