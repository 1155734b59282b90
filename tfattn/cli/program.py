"""The program: all commands in the order of the help, and the handling of errors."""

import os
import sys
from typing import Annotated

import typer

from tfattn import __version__
from tfattn.cli import (
    configuration,
    data,
    generation,
    init,
    models,
    pipelines,
    profiling,
    publishing,
    quality,
    runs,
    searching,
    word_vectors,
)
from tfattn.cli.suggesting import SuggestingGroup
from tfattn.errors import ConfigError, TfattnError

app = typer.Typer(
    name="tfattn",
    cls=SuggestingGroup,
    help="Attention models from one YAML file: raw data in, a served model out.\n\n"
    "Start with `tfattn sample factory_reports data/factory_reports.csv` and "
    "`tfattn run package://pipelines/factory_reports.yaml`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    *(init, profiling, pipelines, quality, runs, models, searching),
    *(word_vectors, generation, publishing, data, configuration),
)
for group in COMMANDS:
    app.add_typer(group.app)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command; errors that the user can fix are printed as a line instead of a traceback."""
    # Real errors are exceptions. TensorFlow also logs as errors that there is no GPU, or no oneDNN kernel for a type.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")  # processes are spawned, never forked
    try:
        app()
    except TfattnError as error:
        for line in str(error).splitlines():
            print(f"error: {line}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except MemoryError:
        remedy = "Lower `data.batching.window` and the batch, or `data.engine.processes`; or give the process more."
        print(f"error: there is not enough memory. {remedy}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
