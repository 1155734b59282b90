"""GLUE SST-2: its files, and a split by whole sentences.

Rows of SST-2 are phrases of sentences. A random row shares phrases with training rows, and is easier than an unseen
sentence. Here whole sentences are held out, and no training row is a phrase of a held-out sentence:

    python -m benchmarks.sst2 data/SST-2

writes sentences.tsv, with `train` or `test` in its column `part`; validation.tsv, for the selection of recipes; and
whole_sentences.tsv, the same as sentences.tsv without the phrases, for models that are trained from scratch.
"""

import csv
import os
import random
import re
import sys
from pathlib import Path

from tfattn import files

KEPT_ASIDE = 872  # sentences to choose a recipe on, and as many to measure it on: GLUE's own dev set has 872
SEED = 7

Rows = list[tuple[str, str]]
Words = tuple[str, ...]


def folder() -> Path:
    """Return the folder with train.tsv and dev.tsv: the environment variable SST2, or ../shared/data/glue/SST-2."""
    path = Path(os.environ.get("SST2", "../shared/data/glue/SST-2"))
    if not (path / "train.tsv").is_file():
        sys.exit(f"no train.tsv in {path}: set the environment variable SST2 to the folder of GLUE SST-2")
    return path


def rows(count: int) -> list[tuple[str, int]]:
    """Return text and label of the first rows of the training file."""
    return [(text, int(label)) for text, label in _phrases(folder() / "train.tsv")[:count]]


def divide(source: Path, target: Path) -> None:
    """Write the split by whole sentences.

    Args:
        source: the folder with train.tsv, dev.tsv, whose rows are also phrases, and sentences_train.tsv with the whole
            sentences.
        target: the output folder.
    """
    phrases = [row for name in ("train.tsv", "dev.tsv") for row in _phrases(source / name)]
    spelled = {_words(text): (text, label) for text, label in phrases}
    listed = (_words(line) for line in (source / "sentences_train.tsv").read_text(encoding="utf-8").splitlines())
    sentences = sorted({words[:-1] for words in listed if words[:-1] in spelled})  # its last word is the label
    random.Random(SEED).shuffle(sentences)
    validation, test = sentences[:KEPT_ASIDE], sentences[KEPT_ASIDE : 2 * KEPT_ASIDE]
    apart = {part for words in (*validation, *test) for part in _parts(words)}
    train = [row for row in phrases if _words(row[0]) and _words(row[0]) not in apart]
    tested = [spelled[words] for words in test]
    _write(target / "sentences.tsv", {"train": train, "test": tested})
    whole = [spelled[words] for words in sentences[2 * KEPT_ASIDE :]]
    _write(target / "whole_sentences.tsv", {"train": whole, "test": tested})
    _write(target / "validation.tsv", {"validation": [spelled[words] for words in validation]})
    print(f"{target}: {len(train)} training rows, {len(validation)} and {len(test)} sentences that share none of them")


def _phrases(path: Path) -> Rows:
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["sentence"].strip(), row["label"]) for row in reader]


def _words(text: str) -> Words:
    """Normalize a phrase: without case, punctuation and names of brackets."""
    return tuple(word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in ("lrb", "rrb"))


def _parts(words: Words) -> list[Words]:
    positions = range(len(words) + 1)
    return [words[start:end] for start in positions for end in positions[start + 1 :]]


def _write(path: Path, parts: dict[str, Rows]) -> None:
    lines = [f"{text}\t{label}\t{part}\n" for part, rows in parts.items() for text, label in rows]
    files.write_text(path, "".join(["sentence\tlabel\tpart\n", *lines]))


if __name__ == "__main__":
    divide(folder(), Path(sys.argv[1]))
