"""A folder with rows and a tracker, for the tests of tracking."""

import csv
from dataclasses import dataclass, field

import pytest

from tfattn.catalog import CATALOGS
from tfattn.runs.tracking import TrackedRun, Tracker

PIPELINE = {
    "name": "tiny",
    "data": {
        "source": {"name": "csv", "path": "rows.csv", "fields": {"label": "kind"}},
        "preprocessing": {"name": "table", "numeric": ["age", "height"]},
        "batching": {"batch_size": 16},
        "split": {"validation": 0.25},
    },
    "model": {"name": "feature_tokenizer_transformer", "hidden_dim": 8, "num_layers": 1, "num_heads": 2},
    "task": {"name": "classification"},
    "training": {"epochs": 2, "optimizer": {"name": "adamw", "learning_rate": 1e-2}},
    "tracker": {"name": "lists"},
}


@dataclass(kw_only=True)
class Lists(Tracker):
    """A tracker that keeps what it gets.

    Args:
        broken: whether it always fails.
    """

    broken: bool = False
    logged: list[TrackedRun] = field(default_factory=list, init=False)

    def log(self, tracked):
        self.logged.append(tracked)
        if self.broken:
            raise ConnectionError("no route to the server\nsecond line")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows; the tracker is a plugin there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(CATALOGS["trackers"], "lists", f"{__name__}:Lists")
    with open("rows.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "height", "kind"])
        rows.writerows([number % 7, number % 5, "ab"[number % 2]] for number in range(80))
    return tmp_path
