"""Clean synthetic data, and profiles of them with planted faults."""

import csv
import random

import pytest

from tfattn.config.resolve import resolve
from tfattn.profiling.profile import profile

WORDS = [f"{first}{second}{third}" for first in "bdfgklmnprst" for second in "aeiou" for third in ("n", "r", "st", "x")]
TABLE = {"name": "table", "numeric": ["age", "load", "width"], "categorical": ["region", "panel"]}
MODEL = {"name": "feature_tokenizer_transformer", "hidden_dim": 8, "num_layers": 1, "num_heads": 2}
ENCODER = {"name": "bert", "hidden_dim": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}


def clean_table(rows: int = 600) -> list[dict[str, str]]:
    """Rows whose target depends on two columns, with noise."""
    draw = random.Random(rows)
    made = []
    for _ in range(rows):
        age, load, region = draw.gauss(40, 9), draw.lognormvariate(2, 0.6), draw.choice("NSEW")
        score = (age - 40) / 9 + (region in "NS") + draw.gauss(0, 1.2)
        sizes = {"load": f"{load:.3f}", "width": f"{draw.random():.4f}"}
        cells = {"age": f"{age:.2f}", **sizes, "region": region, "panel": draw.choice(WORDS[:12])}
        made.append(cells | {"label": "yes" if score > 0.5 else "no"})
    return made


def clean_texts(rows: int = 400) -> list[dict[str, str]]:
    """Random texts, whose first word tells the target of most of them."""
    draw = random.Random(rows)
    made = []
    for _ in range(rows):
        words = draw.choices(WORDS, k=draw.randint(12, 18))
        made.append({"text": " ".join(words), "label": "up" if (words[0] < "l") ^ (draw.random() < 0.1) else "down"})
    return made


@pytest.fixture
def write(tmp_path):
    """Writes rows as a csv file, and returns its path."""

    def run(rows, name="rows.csv"):
        with open(tmp_path / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return str(tmp_path / name)

    return run


@pytest.fixture
def config(write):
    """Resolves a pipeline of rows: of a table, or of texts if the rows have any."""

    def run(rows, *, validation=None, task="classification", **data):
        is_table = not any(name.startswith("text") for name in rows[0])
        role = {"regression": "target", "multi_label_classification": "labels"}.get(task, "label")
        fields = {role: "label"} | {name: name for name in rows[0] if name.startswith("text")}
        section = {
            "source": {"name": "csv", "path": write(rows), "fields": fields},
            "split": {"validation": 0.25},
            "preprocessing": TABLE if is_table else {"name": "wordpiece", "max_length": 64},
            "batching": {"batch_size": 8},
        }
        if validation is not None:
            section["validation_source"] = section["source"] | {"path": write(validation, "validation.csv")}
        values = {"name": "mine", "data": section | data, "model": MODEL if is_table else ENCODER}
        return resolve(values | {"task": {"name": task}, "training": {"epochs": 1}}, [])

    return run


@pytest.fixture
def profiled(config):
    """Profiles rows."""
    return lambda rows, **options: profile(config(rows, **options))
