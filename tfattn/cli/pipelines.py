"""Commands that run the stages of a pipeline, and their common options."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading

app = typer.Typer()

Pipeline = Annotated[Path, typer.Argument(help="A pipeline file, such as pipelines/factory_reports.yaml.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as training.epochs=3.")
]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Your own part, as CATALOG.NAME=MODULE:CLASS."),
]
Force = Annotated[bool, typer.Option("--force", help="Run the stage even if nothing has changed since it last ran.")]
Workers = Annotated[int, typer.Option("--workers", min=1, help="The number of local training processes.")]


@app.command()
def run(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Prepare, train, evaluate and export; a stage whose inputs have not changed is skipped."""
    stages = loading.stages(plugin)
    stages.run(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def prepare(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Read, check and split the raw data, create the vocabulary, and write TFRecords."""
    stages = loading.stages(plugin)
    stages.run(stages.open_run(pipeline, set), "prepare", force=force)


@app.command()
def train(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Train, from the last checkpoint if there is one."""
    stages = loading.stages(plugin)
    stages.run(stages.open_run(pipeline, set), "train", force=force, workers=workers)


@app.command()
def evaluate(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Evaluate the best checkpoint: metrics.json, plots, report.html."""
    stages = loading.stages(plugin)
    stages.run(stages.open_run(pipeline, set), "evaluate", force=force)


@app.command()
def compare(
    comparison: Annotated[
        Path, typer.Argument(help="A comparison file, such as configs/comparisons/transformer_parts.yaml.")
    ],
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the comparison, such as seeds=1."),
    ] = None,
    plugin: Plugins = None,
) -> None:
    """Run variants of a pipeline with several seeds: a table, and curves of loss and gradients."""
    loading.register(plugin)
    loading.with_tensorflow("tfattn.comparing").compare(comparison, set)


@app.command()
def export(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Write the SavedModel and check that it predicts like the trained model."""
    stages = loading.stages(plugin)
    stages.run(stages.open_run(pipeline, set), "export", force=force)
