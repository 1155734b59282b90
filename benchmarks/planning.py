"""The training time that `tfattn plan` expects, and the time that the training takes.

    python -m benchmarks.planning pipelines/pn_flag.yaml pipelines/telco_churn.yaml [--set KEY=VALUE]

Each pipeline is planned and trained in separate processes, with the data of the current folder.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import results
from benchmarks.results import Table


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipelines", nargs="+", type=Path)
    parser.add_argument("--set", action="append", default=[], help="an override for all pipelines")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Plan and train every pipeline."""
    rows = [measure(pipeline, arguments.set) for pipeline in arguments.pipelines]
    columns = ["", "planned seconds", "seconds", "ratio"]
    return [Table(title="The time of training: planned and actual", columns=columns, rows=rows)]


def measure(pipeline: Path, overrides: list[str]) -> list[str]:
    """Return the name of a pipeline, the planned and the actual seconds of its training, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        options = [word for value in (*overrides, f"runs_folder={folder}") for word in ("--set", value)]
        script = "import sys; from tfattn import planning, stages; "
        script += "print(planning.plan(stages.open_run(sys.argv[1], sys.argv[2:])).train_seconds)"
        command = [sys.executable, "-c", script, str(pipeline), *options[1::2]]
        planned = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
        command = [sys.executable, "-m", "tfattn", "train", str(pipeline), *options]
        subprocess.run(command, check=True, capture_output=True)
        records = [json.loads(path.read_text()) for path in Path(folder).rglob("stages/train.json")]
        actual = sum(record["seconds"] for record in records)
    return [pipeline.stem, f"{planned:,.0f}", f"{actual:,.0f}", f"{planned / actual:.2f}"]


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
