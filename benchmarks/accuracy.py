"""The accuracy of a pipeline over several seeds, each with another split: mean, each run's figure and time.

python -m benchmarks.accuracy pipelines/factory_reports.yaml --set data.source.path=factoryReports.csv
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Runs prepare, train and evaluate once per seed, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    parser.add_argument("--set", action="append", default=[], help="an override, as of tfattn")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for seed in range(arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(
                run(arguments.pipeline, [*arguments.set, f"seed={seed}", f"runs_folder={folder}"], Path(folder))
            )
            print(
                "seed {}: accuracy {:.4f}, macro F1 {:.4f}, last epoch {:.4f}, {:.0f} s".format(seed, *rows[-1]),
                flush=True,
            )
    best, f1, last, seconds = map(statistics.mean, zip(*rows, strict=True))
    print(f"mean of {len(rows)}: accuracy {best:.4f}, macro F1 {f1:.4f}, last epoch {last:.4f}, {seconds:.0f} s")


def run(pipeline: str, overrides: list[str], folder: Path) -> tuple[float, float, float, float]:
    """Accuracy and macro F1 of the best epoch, accuracy of the last one, seconds."""
    options = [word for override in overrides for word in ("--set", override)]
    started = time.perf_counter()
    command = [sys.executable, "-m", "tfattn", "evaluate", pipeline, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    seconds = time.perf_counter() - started
    (latest,) = folder.glob("*/latest")
    metrics = json.loads((latest / "metrics.json").read_text())
    last = json.loads((latest / "history.jsonl").read_text().splitlines()[-1])
    return metrics["accuracy"], metrics["macro_f1"], last["validation_accuracy"], seconds


if __name__ == "__main__":
    main()
