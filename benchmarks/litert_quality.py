"""The quality of SmolLM2 in LiteRT files: perplexity and accuracy by the precision of the weights.

Perplexity of the start of the validation text of WikiText-2, in windows. Accuracy on the first rows of the GLUE SST-2
development file, by the more likely label after the prompt of configs/prompts/sst2.yaml. The environment variables
WIKITEXT2 and SST2 may name the folders of the data.
"""

import csv
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks import sst2
from benchmarks.results import Table
from tfattn import pretrained, published
from tfattn.config.build import build
from tfattn.config.resolve import resolve_section
from tfattn.export.litert_decoder import DecoderFiles
from tfattn.export.litert_perplexity import TEXTS, file_perplexity, measure, texts_as_ids, token_logits
from tfattn.litert.model import LiteRtModel
from tfattn.preprocessing.language import Language

PRECISIONS = ("float32", "int8")
WINDOW, WINDOWS = 256, 32  # tokens of a window, and their number
ROWS = 200


def main() -> Iterator[Table]:
    """Measure each precision."""
    source = pretrained.open("smollm2")
    language, task = published.build(source)
    windows, questions, labels = wikitext_windows(language), *sst2_questions(language)
    files = DecoderFiles(task.model, language, measure(task.model, texts_as_ids(language, TEXTS)).input_sizes)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for precision in PRECISIONS:
            path = files.write(Path(folder), precision)
            found[precision] = file_perplexity(path, windows), chosen(path, questions, labels), path.stat().st_size
    reference, exact, _ = found["float32"]
    true = np.array([label for _, label in questions])
    rows = [
        [
            f"LiteRT {precision}",
            f"{perplexity:.3f}",
            f"{perplexity / reference - 1:+.2%}",
            f"{(answers == true).mean():.3f}",
            f"{(answers == exact).mean():.3f}",
            f"{size / 1e6:.0f}",
        ]
        for precision, (perplexity, answers, size) in found.items()
    ]
    yield Table(
        title="SmolLM2-135M-Instruct in LiteRT files",
        columns=["weights", "perplexity", "to float32", "SST-2 accuracy", "same answers", "file, MB"],
        rows=rows,
        notes=(
            f"WikiText-2, validation text: {WINDOW * WINDOWS:,} tokens in windows of {WINDOW}. SST-2: {ROWS} rows of "
            "dev.tsv; the prompt was selected on training rows.",
        ),
    )


def wikitext_windows(language: Language) -> list[np.ndarray]:
    """Return windows of the ids of the validation text."""
    path = Path(os.environ.get("WIKITEXT2", "../shared/data/wikitext2")) / "valid.txt"
    if not path.is_file():
        sys.exit(f"no {path}: set the environment variable WIKITEXT2 to the folder of WikiText-2 with valid.txt")
    text = path.read_text(encoding="utf-8")[: 12 * WINDOW * WINDOWS]  # more characters than are needed
    ids = np.array(language.split(tf.constant([text])).to_list()[0][: WINDOW * WINDOWS], np.int32)
    return list(ids.reshape(WINDOWS, WINDOW))


def sst2_questions(language: Language) -> tuple[list[tuple[np.ndarray, int]], list[int]]:
    """Return the ids of prompts with their labels, and the id of the first token of each label."""
    recipe = build(resolve_section("prompt", "configs/prompts/sst2.yaml", None))
    labels = [ids[0] for ids in language.split(tf.constant([recipe.labels[key] for key in ("0", "1")])).to_list()]
    with (sst2.folder() / "dev.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row, _ in zip(csv.DictReader(file, delimiter="\t"), range(ROWS), strict=False)]
    prompts = [recipe.template.format(**row) for row in rows]
    ids = [np.array(row, np.int32) for row in language.split(tf.constant(prompts)).to_list()]
    return list(zip(ids, (int(row["label"]) for row in rows), strict=True)), labels


def chosen(path: Path, questions: list[tuple[np.ndarray, int]], labels: list[int]) -> np.ndarray:
    """Return the more likely label of each prompt."""
    model = LiteRtModel(path)
    return np.array([token_logits(model, ids)[-1][labels].argmax() for ids, _ in questions])
