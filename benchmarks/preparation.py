"""Rows per second from a CSV to shuffled records, and memory: `tfattn prepare` and peers.

    python -m benchmarks.preparation --rows 200000 --peer PYTHON --old TREE
    python -m benchmarks.preparation --rows 10000000 --rounds 1

The rows are sentences of GLUE SST-2, sorted by class. All candidates read the same file, tokenize with the same
vocabulary and write the result: tfattn with one process and with two, PYTHON (with `datasets` and `tokenizers`) as
Arrow files, TREE (another state of this repository) with its own code. Candidates run in separate processes, in turn.
The results are the medians of wall time and CPU time, start-up included, and the peak memory of all processes; shared
memory counts once.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import results, sst2
from benchmarks.results import Table
from tfattn import pretrained

CLASSES = ("blocked", "electrical", "leak", "mechanical", "software")
PHRASES = 20_000
SAMPLED_SECONDS = 0.5

PIPELINE = """
name: benchmark
seed: 7
data:
  source: {{name: csv, path: {path}, fields: {{text: text, label: label}}}}
  split: {{validation: 0.01}}
  preprocessing: {{name: wordpiece, vocabulary: {vocabulary}, max_length: 64}}
  batching: {{max_tokens: 4096}}
model: {{name: bert, hidden_dim: 32, num_layers: 2, num_heads: 2, intermediate_dim: 64, max_sequence_length: 128}}
task: {{name: classification}}
training: {{epochs: 1}}
"""

PEER = """
import sys
import datasets, tokenizers
path, vocabulary, target, processes = sys.argv[1:]
tokenizer = tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=True)
tokenizer.enable_truncation(64)
def encoded(batch):
    found = tokenizer.encode_batch(batch["text"])
    return {"input_ids": [encoding.ids for encoding in found], "segment_ids": [encoding.type_ids for encoding in found]}
rows = datasets.load_dataset("csv", data_files=path, cache_dir=target + "/cache")["train"].class_encode_column("label")
parts = rows.train_test_split(test_size=0.01, seed=7, stratify_by_column="label")
for name, part in parts.items():
    done = part.map(encoded, batched=True, num_proc=int(processes), remove_columns=["text"])
    done.shuffle(seed=7).save_to_disk(f"{target}/{name}")
"""


@dataclass(frozen=True)
class Run:
    """The cost of a command: seconds of wall time and CPU time, and bytes of memory."""

    wall: float
    cpu: float
    memory: int


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peer", help="a Python with datasets and tokenizers")
    parser.add_argument("--old", help="the root of another state of this repository")
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Write the rows, and run all candidates in each round."""
    with tempfile.TemporaryDirectory() as scratch:
        candidates = _candidates(Path(scratch), arguments)
        runs: dict[str, list[Run]] = {name: [] for name in candidates}
        for _ in range(arguments.rounds):
            for name, (command, tree) in candidates.items():
                runs[name].append(measure(command, tree, Path(tempfile.mkdtemp(dir=scratch))))
    rows = []
    for name, some in runs.items():
        wall, cpu = (statistics.median(getattr(run, what) for run in some) for what in ("wall", "cpu"))
        rates = f"{wall:,.0f}", f"{arguments.rows / wall:,.0f}", f"{cpu:,.0f}", f"{arguments.rows / cpu:,.0f}"
        rows.append([name, *rates, f"{max(run.memory for run in some) / 2**30:.2f}"])
    title = f"Preparation of {arguments.rows:,} rows, medians of {arguments.rounds}"
    columns = ["", "seconds", "rows/s", "seconds of processors", "rows/s of a processor", "GiB, all processes"]
    return [Table(title=title, columns=columns, rows=rows)]


def _candidates(scratch: Path, arguments: argparse.Namespace) -> dict[str, tuple[list[str], Path]]:
    """Return the commands, each with the tree of its code; `{}` in a command is replaced by an empty folder."""
    here = Path(__file__).parent.parent
    rows, pipeline, vocabulary = scratch / "rows.csv", scratch / "pipeline.yaml", pretrained.open("minilm").vocabulary
    write(rows, arguments.rows)
    pipeline.write_text(PIPELINE.format(path=rows, vocabulary=vocabulary), encoding="utf-8")
    ours = [sys.executable, "-m", "tfattn", "prepare", str(pipeline)]
    found = {
        f"tfattn, {count} processes": ([*ours, "--set", f"data.engine={{name: local, processes: {count}}}"], here)
        for count in arguments.processes
    }
    if arguments.old:
        found["tfattn before"] = (ours, Path(arguments.old))
    if arguments.peer:
        for count in arguments.processes:
            command = [arguments.peer, "-c", PEER, str(rows), str(vocabulary), "{}", str(count)]
            found[f"datasets, {count} processes"] = (command, here)
    return found


def write(path: Path, count: int) -> None:
    """Write rows with distinct texts, sorted by class."""
    drawn, phrases = random.Random(1), [text.replace('"', "") for text, _ in sst2.rows(PHRASES)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,text,label\n")
        for row in range(count):
            file.write(f'{row},"{drawn.choice(phrases)} {row}",{CLASSES[row * len(CLASSES) // count]}\n')


def measure(command: list[str], tree: Path, folder: Path) -> Run:
    """Run a command in its own folder, and monitor all its processes."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "TF_CPP_MIN_LOG_LEVEL": "2"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [part.replace("{}", str(folder)) if part == "{}" else part for part in command]
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    memory = 0
    while process.poll() is None:
        memory = max(memory, sum(map(_memory, _family(process.pid))))
        time.sleep(SAMPLED_SECONDS)
    if process.returncode:
        sys.exit(f"{json.dumps(command)} ended with {process.returncode}")
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory)


def _family(process: int) -> list[int]:
    """List a process and all its descendants."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return [process]
    return [process, *(member for child in children for member in _family(child))]


def _memory(process: int) -> int:
    """Return the memory of a process in bytes, with its share of shared memory."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
