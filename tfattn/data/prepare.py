"""From raw files to a folder that training reads: checked, divided, turned into numbers, summed up."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn import files
from tfattn.data.class_plot import class_bars
from tfattn.data.division import divided
from tfattn.data.findings import COLUMNS, TEXTS
from tfattn.data.raw_rows import write_rows
from tfattn.data.records import PREPARE_AGAIN, STORED_NAMES, Feature, Split, Stored, described, write_records
from tfattn.data.section import Data
from tfattn.data.source import Row
from tfattn.data.split import TRAIN
from tfattn.data.summary import SUMMARY, show, summarize
from tfattn.data.targets import ClassLabels, NoLabels
from tfattn.drawing.figures import svg
from tfattn.errors import DataError
from tfattn.features import MASKS, PADDING_MASK
from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import Unknown

# Encoded together: at most so many rows, and where texts are long fewer, because memory follows characters.
ROWS_AT_ONCE = 1024
CHARACTERS_AT_ONCE = 1 << 20


class PreparedSplit(Split):
    """The rows of each class, in the order of the labels, and how many rows were cut at a limit of preprocessing."""

    class_counts: list[int]
    truncated: int


class Facts(Stored):
    """What the manifest of a prepared folder says beside its files.

    Attributes:
        splits: by name.
        labels: the classes in the order of their ids; none where rows have no labels.
        preprocessing: the SHA-256 of its saved files together.
        sources: by key, the SHA-256 of each file read.
        seed: of the split, and of the order of the training records.
    """

    splits: dict[str, PreparedSplit]
    labels: list[str]
    preprocessing: dict[str, str]
    sources: dict[str, str]
    seed: int


def prepare(data: Data, folder: str | Path, seed: int) -> None:
    """Reads, checks and divides the rows, fits the preprocessing on training rows, and writes the whole as one folder.

    The folder holds TFRecord shards of each split, the raw rows of validation and test (`validation.jsonl`, in record
    order), `preprocessing/`, `labels.txt`, `summary.json`, `classes.svg` and `manifest.json` with its `Facts`.

    Args:
        data: the built `data` section; its preprocessing is fitted here.
        folder: appears when all is done, or not at all.
        seed: of the split, and of the order of the training records.

    Raises:
        DataError: a file, row or class is not as it should be; names the place.
    """
    target = data.target()
    parts, dropped = divided(data, target, seed)
    target.fit(parts[TRAIN])
    _fit(data, parts[TRAIN])
    parts[TRAIN], left_out = _fitting(data, parts[TRAIN])
    targets = {split: _targets(data, target, split, rows) for split, rows in parts.items()}
    features = {**_features(data.preprocessing, parts[TRAIN][0]), **target.features}
    truncated: dict[str, list[str]] = {split: [] for split in parts}
    unknown: dict[str, dict[str, Unknown]] = {split: {} for split in parts}

    # The manifest is written when the block ends, with what has been put into these two by then.
    splits: dict[str, dict[str, Any]] = {}
    preprocessing: dict[str, str] = {}
    facts = {
        "features": described(features),
        "labels": target.names,
        "target_fields": list(data.preprocessing.target_fields),
        "sources": data.fingerprints(),
        "seed": seed,
    }
    with files.atomic_folder(folder, splits=splits, preprocessing=preprocessing, **facts) as new:
        (new / "preprocessing").mkdir()
        data.preprocessing.save(new / "preprocessing")
        preprocessing["sha256"] = _hash(new / "preprocessing")
        target.save(new)
        for split, rows in parts.items():
            examples = _examples(rows, targets[split], data.preprocessing, truncated[split], unknown[split])
            splits[split] = {
                **write_records(new, split, examples, features=features, num_rows=len(rows)),
                "class_counts": target.counts(rows),
                "truncated": len(truncated[split]),
            }
            if split != TRAIN:
                write_rows(new, split, rows)
        summary = summarize(
            parts,
            made_of=COLUMNS if data.preprocessing.reads_columns else TEXTS,
            classes={split: [target.of(row) for row in rows] for split, rows in parts.items()},
            roles=(*data.preprocessing.fields, *data.preprocessing.target_fields),
            dropped=dropped,
            left_out=left_out,
            lengths=_lengths(new, parts) if data.preprocessing.max_length else {},
            truncated=truncated,
            unknown=unknown,
            unknown_remedy=data.preprocessing.unknown_remedy,
        )
        files.write_json(new / SUMMARY, summary)
        if summary["classes"]:
            files.write_text(new / "classes.svg", svg(class_bars(summary["classes"])))
    show(summary)


def read_facts(folder: str | Path) -> Facts:
    """What was written down about a prepared folder.

    Raises:
        DataError: its manifest is missing or damaged.
    """
    return files.read_manifest(folder, Facts, remedy=PREPARE_AGAIN)


def _fit(data: Data, rows: list[Row]) -> None:
    try:
        data.preprocessing.fit(row.fields for row in rows)
    except DataError as error:  # of a column as a whole, which knows no file
        error.where = error.where or str(data.source.path)
        raise


def _fitting(data: Data, rows: list[Row]) -> tuple[list[Row], list[str]]:
    """The training rows that the preprocessing wants to learn from, and the places of the others."""
    kept: list[Row] = []
    left_out: list[str] = []
    for some in _batches(rows):
        for row, is_out in zip(some, data.preprocessing.leaves_out(_fields(some, data.preprocessing)), strict=True):
            (left_out if is_out else kept).append(row.where if is_out else row)
    if not kept:
        raise DataError(
            "the limits of the preprocessing leave no training row",
            where=str(data.source.path),
            received=f"{len(left_out)} rows that are too long, or of too unequal lengths",
            remedy="Raise the limits in `data.preprocessing`.",
        )
    return kept, left_out


def _targets(data: Data, target: ClassLabels | NoLabels, split: str, rows: list[Row]) -> list[dict[str, Any]]:
    try:
        return [target.encode(row) for row in rows]
    except DataError as error:  # of a class that is new in this split, which does not know how rows were divided
        error.remedy = f"{error.remedy} {data.remedy_of_new_class(split)}".lstrip()
        raise


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    some: list[Row] = []
    characters = 0
    for row in rows:
        more = sum(map(len, row.fields.values()))
        if some and (len(some) == ROWS_AT_ONCE or characters + more > CHARACTERS_AT_ONCE):
            yield some
            some, characters = [], 0
        some.append(row)
        characters += more
    if some:
        yield some


def _examples(
    rows: list[Row],
    targets: list[dict[str, Any]],
    preprocessor: Preprocessor,
    truncated: list[str],
    unknown: dict[str, Unknown],
) -> Iterator[dict[str, Any]]:
    of_rows = iter(targets)
    for some in _batches(rows):
        fields = _fields(some, preprocessor)
        columns = {STORED_NAMES.get(name, name): _values(output) for name, output in preprocessor(fields).items()}
        truncated += [row.where for row, cut in zip(some, preprocessor.truncated(fields).numpy(), strict=True) if cut]
        for name, found in preprocessor.unknown(fields).items():
            unknown[name] = unknown.get(name, Unknown()) + found
        for place in range(len(some)):
            yield {**{name: values[place] for name, values in columns.items()}, **next(of_rows)}


def _features(preprocessor: Preprocessor, row: Row) -> dict[str, Feature]:
    """What the preprocessor writes, seen from one row."""
    fields = _fields([row], preprocessor)
    inputs = preprocessor({name: fields[name] for name in preprocessor.fields})
    features = {}
    for name, output in preprocessor(fields).items():
        dtype = "int64" if output.dtype.is_integer else "float32"
        role = "input" if name in inputs else "target"
        shape = tuple(output.shape[1:])
        features[STORED_NAMES.get(name, name)] = Feature(dtype, shape, MASKS.get(name, PADDING_MASK), role)
    return features


def _fields(rows: list[Row], preprocessor: Preprocessor) -> dict[str, tf.Tensor]:
    roles = (*preprocessor.fields, *preprocessor.target_fields)
    return {role: tf.constant([row.fields[role] for row in rows]) for role in roles}


def _values(output: tf.Tensor | tf.RaggedTensor) -> list[Any]:
    return output.to_list() if isinstance(output, tf.RaggedTensor) else output.numpy().tolist()


def _lengths(folder: Path, splits: Iterable[str]) -> dict[str, np.ndarray]:
    """Tokens of each row of a split, (rows,); of source and target where there are both."""
    lengths = {}
    for split in splits:
        paths = sorted(folder.glob(f"{split}-*.lengths.npy"))
        columns = np.concatenate([np.load(path) for path in paths]).T
        names = [split] if len(columns) == 1 else [f"{split}, source", f"{split}, target"]
        lengths |= dict(zip(names, columns, strict=True))
    return lengths


def _hash(folder: Path) -> str:
    saved = (path for path in folder.rglob("*") if path.is_file())
    return files.digest({str(path.relative_to(folder)): files.sha256(path) for path in saved})
