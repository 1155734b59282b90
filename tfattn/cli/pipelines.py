"""Commands that run the stages of a pipeline, and their common options."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder, TokenFile
from tfattn.formats.file_formats import InputKind

app = typer.Typer()

Pipeline = Annotated[
    str,
    typer.Argument(
        help="A pipeline file, written by `tfattn init`; or a shipped one: package://pipelines/factory_reports.yaml."
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as training.epochs=3.")
]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Your own part, as CATALOG.NAME=MODULE:CLASS."),
]
Force = Annotated[bool, typer.Option("--force", help="Run the stage even if nothing has changed since it last ran.")]
Smoke = Annotated[
    bool,
    typer.Option(
        "--smoke", help="Only test the pipeline, in a minute: a few rows, a tiny model, up to a served answer."
    ),
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="The number of local training processes.")]


@app.command()
def run(
    pipeline: Pipeline,
    set: Overrides = None,
    force: Force = False,
    plugin: Plugins = None,
    workers: Workers = 1,
    smoke: Smoke = False,
) -> None:
    """Prepare, train, evaluate and export; a stage whose inputs have not changed is skipped."""
    stages = loading.stages(plugin)
    if smoke:
        loading.with_tensorflow("tfattn.smoke").smoke(pipeline, set)
        return
    stages.run(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def plan(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None) -> None:
    """Prepare, time a few training steps, and print the parameters, memory, time and disk space of the training."""
    stages = loading.stages(plugin)
    loading.with_tensorflow("tfattn.planning").show(stages.open_run(pipeline, set))


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
def evaluate(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="A pipeline file; with --on an export's folder, its name under saved_models/, a run's folder, or "
            "http://HOST:PORT/MODEL on a server."
        ),
    ],
    on: Annotated[
        Path | None, typer.Option("--on", help="A file of new rows with true targets: csv, tsv, jsonl, ...")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="With --on: the column of the true targets, if it is not found.")
    ] = None,
    unknown_labels: Annotated[
        Literal["leave_out", "wrong"],
        typer.Option("--unknown-labels", help="With --on: rows with labels that the model does not have."),
    ] = "leave_out",
    output: Annotated[
        Path | None,
        typer.Option("--output", help="With --on: the folder of the results; by default evaluations/MODEL/FILE."),
    ] = None,
    format: Annotated[
        InputKind | None,
        typer.Option("--format", help="With --on: the format, if neither the suffix nor the training file says it."),
    ] = None,
    folder: Folder = Path("saved_models"),
    token_file: TokenFile = None,
    set: Overrides = None,
    force: Force = False,
    plugin: Plugins = None,
) -> None:
    """Evaluate the best checkpoint, or with --on a model on new rows: metrics.json, plots, report.html."""
    if on is None:
        stages = loading.stages(plugin)
        stages.run(stages.open_run(pipeline, set), "evaluate", force=force)
        return
    loading.with_tensorflow("tfattn.evaluation.new_rows").evaluate_rows(
        pipeline,
        on,
        target=target,
        unknown_labels=unknown_labels,
        output=output,
        format=format,
        folder=folder,
        token_file=token_file,
    ).show()


@app.command()
def compare(
    compared: Annotated[
        list[str],
        typer.Argument(
            metavar="COMPARISON | RUN RUN ...",
            help="A comparison file, such as package://configs/comparisons/normalization.yaml; or at least two runs: "
            "their folders, such as runs/NAME/ID.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", help="With runs: the folder of the page; by default comparisons/ID-ID.")
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the comparison, such as seeds=1."),
    ] = None,
    plugin: Plugins = None,
) -> None:
    """Compare finished runs, or run variants of a pipeline with several seeds: a table, and curves."""
    loading.register(plugin)
    if len(compared) > 1 or Path(compared[0]).is_dir():
        loading.with_tensorflow("tfattn.evaluation.run_comparison").compare_runs(compared, output)
    else:
        loading.with_tensorflow("tfattn.comparing").compare(compared[0], set)


@app.command()
def export(
    pipeline: Annotated[
        str,
        typer.Argument(
            help="A pipeline file; with --format an export's folder, its name under saved_models/, a run's folder, or "
            "a pretrained decoder (smollm2)."
        ),
    ],
    format: Annotated[
        Literal["hugging_face", "gguf", "litertlm"] | None,
        typer.Option(
            "--format",
            help="Write an export for other programs: transformers, llama.cpp, or LiteRT-LM on phones (litertlm, of a "
            "pretrained decoder).",
        ),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="With --format: the new folder, or file; by default FORMAT/NAME.")
    ] = None,
    encoder_only: Annotated[
        bool, typer.Option("--encoder-only", help="With hugging_face: leave out the head of the task.")
    ] = False,
    precision: Annotated[
        Literal["float32", "float16", "bfloat16", "q8_0"] | None,
        typer.Option("--precision", help="With gguf: the precision of matrices; by default float16."),
    ] = None,
    folder: Folder = Path("saved_models"),
    set: Overrides = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Export even if nothing has changed; with --format replace a written folder."),
    ] = False,
    plugin: Plugins = None,
) -> None:
    """Write the SavedModel and check that it predicts like the trained model; or write an export in another format."""
    if format is None:
        for name, given in {"--to": to, "--encoder-only": encoder_only, "--precision": precision}.items():
            if given:
                raise typer.BadParameter(f"{name} needs --format: the SavedModel is written to `export.folder`")
        stages = loading.stages(plugin)
        stages.run(stages.open_run(pipeline, set), "export", force=force)
        return
    loading.register(plugin)
    if format == "litertlm":
        loading.with_tensorflow("tfattn.published").bundle(pipeline, to, force=force)
        return
    model = loading.exported(pipeline, folder)
    sharing = loading.with_tensorflow("tfattn.sharing.commands")
    options = {"force": force, "encoder_only": encoder_only, "precision": precision}
    sharing.share(model, format, to, folder=folder, **options)
