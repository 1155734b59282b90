"""Word vectors compared with gensim: `python -m benchmarks word2vec` with ../shared/data/word2vec next to the project.

Both have the same words (a to z in lower case, a text per line) and all cores: width 100, window 5, 5 negatives,
minimum count 5, sample 1e-3, learning rate 0.025, 5 epochs. Each run is a separate process. Words per second are the
words of all texts times the epochs, by the time of training alone, including compilation; `in all` is a process from
text files to vectors.
"""

import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import word_checks
from benchmarks.peers import last_line
from benchmarks.results import Table
from tfattn import files
from tfattn.training.runtime import num_cores
from tfattn.vectors.opening import open_vectors
from tfattn.vectors.word_vectors import WordVectors

PROJECT = Path(__file__).resolve().parents[1]
CORPORA = PROJECT.parent / "shared" / "data" / "word2vec"
WORD = re.compile("[a-z]+")
EPOCHS, VALIDATION = 5, 0.005  # as in the pipelines
SEEDS = (1, 2, 3)
KINDS = {"skip_gram": 1, "cbow": 0}

GENSIM = """
import json, resource, sys, time
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
text, out, sg, workers, seed, from_file = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
begin = time.perf_counter()
model = Word2Vec(vector_size=100, window=5, negative=5, min_count=5, sample=1e-3, sg=sg, workers=workers, seed=seed)
source = {"corpus_file": text} if from_file else {"corpus_iterable": LineSentence(text)}
model.build_vocab(**source)
trained = time.perf_counter()
total = {"total_words": model.corpus_total_words} if from_file else {"total_examples": model.corpus_count}
model.train(epochs=5, **source, **total)
end = time.perf_counter()
model.wv.save_word2vec_format(out, binary=True)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": end - trained, "all": time.perf_counter() - begin, "words": model.corpus_total_words,
                  "memory": peak * 1024}))
"""

# On one core, as in the pipelines: large matrices, and the blocks of a record of 768 words and 48 others.
PRODUCTS = """
import json, math, time
from tfattn import native
native.import_tensorflow()
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(1)

def rate(left, right, repeats):
    @tf.function
    def run(x, y):
        step = lambda count, total: (count + 1, total + tf.reduce_max(tf.matmul(x + 0 * total, y)[..., :1, :1]))
        return tf.while_loop(lambda count, _: count < repeats, step, (0, 0.0))[1]
    x, y = tf.random.normal(left), tf.random.normal(right)
    seconds = []
    for _ in range(6):
        begin = time.perf_counter()
        run(x, y).numpy()
        seconds.append(time.perf_counter() - begin)
    return 2 * math.prod(left) * right[-1] * repeats / min(seconds[1:])

print(json.dumps([rate((1024, 1024), (1024, 1024), 10), rate((24, 32, 100), (24, 100, 48), 500)]))
"""
# Of a word that is kept in skip-gram: those with 32 words of its block and 16 drawn ones, and two gradients of each.
FLOP = 6 * 100 * (32 + 16)

TRAINING = """
import json, resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[2:], cwd=sys.argv[1], check=True, capture_output=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"all": time.perf_counter() - begin, "memory": peak * 1024}))
"""


def main() -> list[Table]:
    """Train with both, and evaluate the vectors on lists of words."""
    if not CORPORA.is_dir():
        sys.exit(f"needs the corpora of {CORPORA.parent.name}/{CORPORA.name} next to the project")
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        text = _text(Path(folder))
        for kind, sg in KINDS.items():
            candidates = {
                "tfattn": lambda seed, kind=kind: _run_tfattn(Path(folder), kind, seed, text),
                "gensim": lambda seed, sg=sg: _run_gensim(Path(folder), text, sg, seed, from_file=False),
                "gensim, corpus_file": lambda seed, sg=sg: _run_gensim(Path(folder), text, sg, seed, from_file=True),
            }
            found = {name: [] for name in candidates}
            for seed in SEEDS:
                for name, run in candidates.items():
                    found[name].append(run(seed))
            tables.append(_table(kind, found))
            if kind == "skip_gram":
                tables.append(_ceiling(found["tfattn"]))
    return tables


def _table(kind: str, found: dict[str, list[dict[str, float]]]) -> Table:
    def cells(runs):
        rate, whole, memory = (np.median([run[name] for run in runs]) for name in ("rate", "all", "memory"))
        scores = [[run[name] for run in runs] for name in ("precision", "analogies")]
        shown = [f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})" for values in scores]
        return [f"{rate:,.0f}", f"{whole:.0f} s", f"{memory / 2**20:,.0f} MiB", *shown]

    return Table(
        title=f"{kind}, medians of seeds {', '.join(map(str, SEEDS))}",
        columns=["", "words/s", "in all", "memory", "words of a kind", "analogies"],
        rows=[[name, *cells(runs)] for name, runs in found.items()],
        notes=("Words of a kind: mean average precision; analogies: accuracy; both of our own lists, with all seeds.",),
    )


def _ceiling(runs: list[dict[str, float]]) -> Table:
    large, blocks = json.loads(last_line(PRODUCTS))
    trained = np.median([run["kept"] for run in runs]) * FLOP
    rates = {"products of large matrices": large, "products of blocks alone": blocks, "skip-gram, training": trained}
    return Table(
        title="skip-gram compared with the matrix products that one core can compute",
        columns=["", "GFLOP/s", "of large matrices"],
        rows=[[name, f"{rate / 1e9:.0f}", f"{rate / large:.2f}"] for name, rate in rates.items()],
        notes=("Only matrix products of training are counted; one core computes, the other reads.",),
    )


def _text(folder: Path) -> Path:
    """Write the words of all corpora for gensim, a text per line."""
    target = folder / "corpus.txt"
    with target.open("w", encoding="utf-8") as out:
        for path in sorted(CORPORA.glob("*.txt.gz")):
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
                out.writelines(f"{' '.join(words)}\n" for line in lines if (words := WORD.findall(line.lower())))
    return target


def _run_tfattn(folder: Path, kind: str, seed: int, text: Path) -> dict[str, float]:
    """Prepare, train and export the pipeline of a kind."""
    for name, target in {"data": CORPORA.parent, "configs": PROJECT / "configs"}.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    pipeline = PROJECT / "pipelines" / f"word2vec_{kind}.yaml"
    name = f"{kind}_{seed}"
    command = [sys.executable, "-m", "tfattn", "train", str(pipeline), "--set", f"name={name}", "--set", f"seed={seed}"]
    # A process of its own, whose children's memory is that of this command alone.
    found = json.loads(last_line(TRAINING, folder, *command))
    subprocess.run([*command[:3], "export", *command[4:]], cwd=folder, check=True, capture_output=True)
    history = files.read_json_lines(folder / "runs" / name / "latest" / "history.jsonl", dict[str, int | float])
    words = len(text.read_bytes().split()) * EPOCHS * (1 - VALIDATION)
    vectors = open_vectors(name, folder / "saved_models")
    seconds = sum(line["seconds"] for line in history)
    kept = sum(line["tokens_per_second"] * line["seconds"] for line in history) / seconds
    return {**found, "rate": words / seconds, "kept": kept, **_quality(vectors)}


def _run_gensim(folder: Path, text: Path, sg: int, seed: int, *, from_file: bool) -> dict[str, float]:
    out = folder / "gensim.bin"
    found = json.loads(last_line(GENSIM, text, out, sg, num_cores(), seed, int(from_file)))
    return {**found, "rate": found["words"] * EPOCHS / found["seconds"], **_quality(open_vectors(str(out)))}


def _quality(vectors: WordVectors) -> dict[str, float]:
    return {
        "precision": word_checks.mean_average_precision(vectors),
        "analogies": word_checks.analogy_accuracy(vectors),
    }
