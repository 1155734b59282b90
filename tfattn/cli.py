"""The command line: it parses, calls a stage and prints. Nothing heavy is imported before a command needs it."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tfattn import __version__, catalog
from tfattn.errors import ConfigError, TfattnError

app = typer.Typer(
    name="tfattn",
    help="Attention models from one YAML file: raw data in, a served model out.\n\n"
    "Start with `tfattn sample factory_reports data/factory_reports.csv` and "
    "`tfattn run pipelines/factory_reports.yaml`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Pipeline = Annotated[Path, typer.Argument(help="A pipeline file, such as pipelines/factory_reports.yaml.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as training.epochs=3.")
]
Force = Annotated[bool, typer.Option("--force", help="Run the stage even if nothing has changed since it last ran.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Your own part, as CATALOG.NAME=MODULE:CLASS."),
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Start this many local processes that train together.")]


@app.command()
def run(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Prepare, train, evaluate and export; a stage whose inputs have not changed is skipped."""
    stages = _stages(plugin)
    stages.run(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def prepare(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Read and check the raw data, split it, make the vocabulary, write TFRecords."""
    stages = _stages(plugin)
    stages.prepare(stages.open_run(pipeline, set), force=force)


@app.command()
def train(
    pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None, workers: Workers = 1
) -> None:
    """Train, from the last checkpoint where there is one."""
    stages = _stages(plugin)
    stages.train(stages.open_run(pipeline, set), force=force, workers=workers)


@app.command()
def evaluate(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Measure the best checkpoint: metrics.json, plots, report.html."""
    stages = _stages(plugin)
    stages.evaluate(stages.open_run(pipeline, set), force=force)


@app.command()
def export(pipeline: Pipeline, set: Overrides = None, force: Force = False, plugin: Plugins = None) -> None:
    """Write the SavedModel and prove that it answers as the trained model does."""
    stages = _stages(plugin)
    stages.export(stages.open_run(pipeline, set), force=force)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="An export's folder, or its name under saved_models/.")],
    input: Annotated[str, typer.Option("--input", help="Text lines, csv, tsv or jsonl; - is standard input.")] = "-",
    output: Annotated[str, typer.Option("--output", help="A JSONL file; - is standard output.")] = "-",
    format: Annotated[
        Literal["text", "csv", "tsv", "jsonl"] | None,
        typer.Option("--format", help="How to read the input, where its suffix does not tell."),
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Rows answered at once.")] = 64,
    folder: Annotated[Path, typer.Option("--folder", help="Where exports stand.")] = Path("saved_models"),
) -> None:
    """Answer a file of inputs from an export, one JSON object a line."""
    _stages().predict(model, input, output, format=format, batch_size=batch_size, folder=folder)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="The sample's name: `tfattn list samples`.")],
    path: Annotated[Path, typer.Argument(help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Another seed gives other rows.")] = 7,
) -> None:
    """Write a sample data set to try a pipeline on."""
    catalog.find("samples", name)(path, seed=seed)
    print(path)


@app.command()
def check(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None) -> None:
    """Check a pipeline file; every error at once, each with file:line:column."""
    stages = _stages(plugin)
    from tfattn.config.resolve import resolve

    stages.check(resolve(pipeline, set))
    print(f"{pipeline}: no errors")


@app.command()
def show(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None) -> None:
    """Print the resolved configuration, each value with where it came from."""
    _stages(plugin)
    from tfattn.config.resolve import resolve
    from tfattn.config.show import to_yaml

    print(to_yaml(resolve(pipeline, set)), end="")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(catalog.CATALOGS)}.")],
    name: Annotated[str | None, typer.Argument(help="Show the keys of this one.")] = None,
    plugin: Plugins = None,
) -> None:
    """List what a configuration can name; with a name, the keys that it takes."""
    _stages(plugin)
    if kind not in catalog.CATALOGS:
        raise ConfigError("no such list", expected=f"one of {', '.join(catalog.CATALOGS)}", received=kind)
    if name is None:
        for entry in catalog.names(kind):
            print(f"{entry:<24} {_summary(catalog.find(kind, entry))}")
        return
    from tfattn.config.show import key_lines

    print("\n".join(key_lines(kind, name)))


@app.command()
def schema() -> None:
    """Print the JSON Schema of pipeline files, for completion and checks in an editor."""
    _stages()
    from tfattn.config.show import json_schema

    print(json.dumps(json_schema(), indent=2))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """The entry point: one clear line instead of a traceback where the user can mend it."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    try:
        app()
    except TfattnError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _stages(plugins: list[str] | None = None) -> Any:
    """The stages, with the user's own classes in the catalog."""
    if plugins:
        sys.path.insert(0, "")  # they may stand in the current folder
    for plugin in plugins or ():
        catalog.register(plugin)
    import tfattn.console  # noqa: F401 (it looks at standard error as it is made: not while that is hidden)

    with _native_errors_hidden():
        import tensorflow

        from tfattn import stages

        tensorflow.config.list_physical_devices()
    return stages


@contextlib.contextmanager
def _native_errors_hidden() -> Iterator[None]:
    """TensorFlow notes missing accelerators on standard error before any setting can stop it."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _summary(documented: Any) -> str:
    return (documented.__doc__ or "").strip().splitlines()[0] if documented.__doc__ else ""
