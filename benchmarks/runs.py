"""Pipeline runs in separate processes, for benchmarks."""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import results
from tfattn import files


def parser(module: str, about: str) -> argparse.ArgumentParser:
    """Create the parser of the command line of a benchmark that runs pipelines with several seeds.

    Args:
        module: the benchmark.
        about: its docstring; the first line is shown.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about.splitlines()[0])
    parser.add_argument("pipelines", nargs="+", metavar="PIPELINE:METRIC")
    parser.add_argument("--seeds", type=int, default=3, help="how many runs of each")
    parser.add_argument("--set", action="append", default=[], help="an override of all runs, as of tfattn")
    results.add_option(parser)
    return parser


@contextlib.contextmanager
def evaluated_run(pipeline: str, overrides: Sequence[str]) -> Iterator[Path]:
    """Run a pipeline up to its evaluation; yield the folder of the run, which is removed at the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        options = [word for override in [*overrides, f"runs_folder={folder}"] for word in ("--set", override)]
        command = [sys.executable, "-m", "tfattn", "evaluate", pipeline, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        (run,) = Path(folder).glob("*/latest")
        yield run


def read_metrics(run: Path) -> dict[str, int | float]:
    """Read the metrics of a run from its folder."""
    return files.read_json(run / "metrics.json", dict[str, int | float])
