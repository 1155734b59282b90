"""Examples per second for BERT pre-training: `tfattn create-pretraining-data` and the script of google-research/bert.

    python -m benchmarks.pretraining_data --peer BERT --copies 2

Both read the same text, with a sentence per line and a blank line after every 20, and write the same layout with the
same options, in turn. BERT is a folder with create_pretraining_data.py and tokenization.py of that repository. The
results are the medians of wall time with and without start-up, which is the time for a few lines of text, the peak
memory of all processes, and the statistics of the examples.
"""

import argparse
import gzip
import itertools
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks import results
from benchmarks.preparation import Run, measure
from benchmarks.results import Table
from tfattn import pretrained

TEXT = Path(os.environ.get("SENTENCES", "../shared/data/word2vec/brown.txt.gz"))
SENTENCES_PER_DOCUMENT, FEW = 20, 100
LENGTH, PREDICTIONS = 128, 20
OPTIONS = {"max_seq_length": LENGTH, "max_predictions_per_seq": PREDICTIONS, "random_seed": 7, "do_lower_case": True}
# The script is for TensorFlow 1; TensorFlow 2 still has the names.
PEER = """
import runpy, sys
import tensorflow.compat.v1 as tensorflow
sys.modules["tensorflow"] = tensorflow
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0] + "/create_pretraining_data.py", run_name="__main__")
"""
SPECS = {
    "input_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "input_mask": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "masked_lm_positions": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_ids": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_weights": tf.io.FixedLenFeature([PREDICTIONS], tf.float32),
    "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
}


def parser() -> argparse.ArgumentParser:
    """Create the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", help="a folder with create_pretraining_data.py and tokenization.py")
    parser.add_argument("--copies", type=int, default=1, help="copies of the text")
    parser.add_argument("--dupe-factor", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    results.add_option(parser)
    return parser


def main(arguments: argparse.Namespace) -> list[Table]:
    """Write the text, and run both candidates in each round."""
    with tempfile.TemporaryDirectory() as scratch:
        text, few = Path(scratch) / "text.txt", Path(scratch) / "few.txt"
        write(text, arguments.copies)
        write(few, 1, FEW)
        commands = _commands(arguments)
        runs: dict[str, list[tuple[Run, Run, int]]] = {name: [] for name in commands}
        for number, (name, command) in itertools.product(range(arguments.rounds), commands.items()):
            output = _output(scratch, name, number)
            start = _run(command, few, Path(scratch) / "few.tfrecord")
            whole = _run(command, text, output)
            runs[name].append((whole, start, sum(1 for _ in tf.data.TFRecordDataset(str(output)))))
        held = [_statistics(name, _output(scratch, name, 0)) for name in commands]
        size = text.stat().st_size
    rates, rows = [], []
    for name, some in runs.items():
        count = some[0][2]
        seconds = statistics.median(whole.wall for whole, _, _ in some)
        without_start = statistics.median(whole.wall - start.wall for whole, start, _ in some)
        processors = statistics.median(whole.cpu for whole, _, _ in some)
        memory = max(whole.memory for whole, _, _ in some) / 2**30
        rates.append([count / seconds, count / without_start, count / processors])
        rows.append([name, f"{count:,}", f"{seconds:.1f}", *(f"{rate:,.0f}" for rate in rates[-1]), f"{memory:.2f}"])
    ratio = "{:.1f} times as many a second, {:.1f} times without the start, {:.1f} times of a processor.".format(
        *(ours / theirs for ours, theirs in zip(rates[0], rates[-1], strict=True))
    )
    return [
        Table(
            title=f"Examples of {size / 1e6:.1f} MB of text, {arguments.dupe_factor} times, {LENGTH} tokens",
            columns=[
                "",
                "examples",
                "seconds",
                "examples/s",
                "without the start",
                "examples/s of a processor",
                "GiB, all processes",
            ],
            rows=rows,
            notes=[f"tfattn makes {ratio}"] * (len(rows) > 1),
        ),
        Table(
            title="Statistics of the examples, with one standard error",
            columns=["", "hidden of all tokens", "masks of those", "random tokens", "kept", "random second texts"],
            rows=held,
        ),
    ]


def write(path: Path, copies: int, limit: int | None = None) -> None:
    """Write sentences, with blank lines after some of them."""
    with gzip.open(TEXT, "rt", encoding="utf-8") as lines:
        sentences = [line.strip() for line in itertools.islice(lines, limit)]
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(copies):
            for begin in range(0, len(sentences), SENTENCES_PER_DOCUMENT):
                file.write("\n".join([*sentences[begin : begin + SENTENCES_PER_DOCUMENT], "", ""]))


def _commands(arguments: argparse.Namespace) -> dict[str, list[str]]:
    vocabulary = pretrained.open("minilm").vocabulary
    options = OPTIONS | {"vocab_file": vocabulary, "dupe_factor": arguments.dupe_factor}
    flags = [f"--{name}={value}" for name, value in options.items()]
    found = {"tfattn": [sys.executable, "-m", "tfattn", "create-pretraining-data", *flags]}
    if arguments.peer:
        found["google-research/bert"] = [sys.executable, "-c", PEER, str(Path(arguments.peer).absolute()), *flags]
    return found


def _run(command: list[str], text: Path, output: Path) -> Run:
    tree = Path(__file__).parent.parent
    return measure([*command, f"--input_file={text}", f"--output_file={output}"], tree, output.parent)


def _output(scratch: str, name: str, number: int) -> Path:
    return Path(scratch) / f"{name.replace('/', '_')}_{number}.tfrecord"


def _statistics(name: str, path: Path) -> list[str]:
    """Compute the fractions of masked tokens and next sentences."""
    hidden = tokens = masks = kept = random = records = 0
    mask = pretrained.open("minilm").vocabulary.read_text(encoding="utf-8").split("\n").index("[MASK]")
    for batch in tf.data.TFRecordDataset(str(path)).batch(4096):
        values = {name: value.numpy() for name, value in tf.io.parse_example(batch, SPECS).items()}
        is_masked = values["masked_lm_weights"] > 0
        shown = np.take_along_axis(values["input_ids"], values["masked_lm_positions"], axis=1)[is_masked]
        masks += (shown == mask).sum()
        kept += (shown == values["masked_lm_ids"][is_masked]).sum()
        hidden, tokens = hidden + is_masked.sum(), tokens + values["input_mask"].sum()
        random, records = random + values["next_sentence_labels"].sum(), records + len(is_masked)
    of_hidden = [(count, hidden) for count in (masks, hidden - masks - kept, kept)]
    counts = [(hidden, tokens), *of_hidden, (random, records)]
    return [name, *(_fraction(count / total, total) for count, total in counts)]


def _fraction(value: float, total: int) -> str:
    return f"{value:.2%} ± {np.sqrt(value * (1 - value) / total):.2%}"


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    options = parser().parse_args()
    results.publish(main(options), command=results.own_command(), record=options.record)
