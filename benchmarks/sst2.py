"""Where the sentences of GLUE SST-2 stand, which several benchmarks read."""

import csv
import os
import sys
from pathlib import Path


def folder() -> Path:
    """The folder with train.tsv and dev.tsv: the environment variable SST2, or ../shared/data/glue/SST-2."""
    path = Path(os.environ.get("SST2", "../shared/data/glue/SST-2"))
    if not (path / "train.tsv").is_file():
        sys.exit(f"no train.tsv in {path}: set the environment variable SST2 to the folder of GLUE SST-2")
    return path


def rows(count: int) -> list[tuple[str, int]]:
    """The first rows of the training file: text and label."""
    with open(folder() / "train.tsv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row["sentence"], int(row["label"])) for row, _ in zip(reader, range(count), strict=False)]
