"""From raw files to a folder that training reads: checked, divided, turned into numbers, summed up."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn import files
from tfattn.data.class_plot import draw_classes
from tfattn.data.records import STORED_NAMES, Feature, described, write_records
from tfattn.data.section import Data
from tfattn.data.source import Row, Source
from tfattn.data.split import TEST, TRAIN, VALIDATION
from tfattn.data.summary import show, summarize
from tfattn.data.targets import ClassLabels
from tfattn.errors import DataError, nearest
from tfattn.preprocessing.preprocessor import Preprocessor

ROWS_AT_ONCE = 1024  # read together
SHOWN_VALUES = 20


def prepare(data: Data, folder: str | Path, seed: int) -> None:
    """Reads, checks and divides the rows, fits the preprocessing on training rows, and writes the whole as one folder.

    The folder holds TFRecord shards of each split, the raw rows of validation and test (`validation.jsonl`, in record
    order), `preprocessing/`, `labels.txt`, `summary.json`, `classes.png` and `manifest.json`, whose facts are:

        splits      {split: {rows, shards, class_counts, truncated}}
        features    {name in the records: {dtype, kind, size}}
        labels      the classes in the order of their ids
        preprocessing   {sha256}: of its saved files together
        sources     {key: sha256} of the files read

    Args:
        data: the built `data` section; its preprocessing is fitted here.
        folder: appears when all is done, or not at all.
        seed: of the split, and of the order of the training records.

    Raises:
        DataError: a file, row or class is not as it should be; names the place.
    """
    target = ClassLabels(data.labels)
    parts, dropped = _divided(data, target, seed)
    target.fit(parts[TRAIN])
    targets = {split: [target.encode(row) for row in rows] for split, rows in parts.items()}
    _fit(data, parts[TRAIN])
    features = {**_features(data.preprocessing, parts[TRAIN][0]), **target.features}
    truncated: dict[str, list[str]] = {split: [] for split in parts}

    # The manifest is written when the block ends, with what has been put into these two by then.
    splits: dict[str, dict[str, Any]] = {}
    preprocessing: dict[str, str] = {}
    facts = {"features": described(features), "labels": target.names, "sources": data.fingerprints(), "seed": seed}
    with files.atomic_folder(folder, splits=splits, preprocessing=preprocessing, **facts) as new:
        (new / "preprocessing").mkdir()
        data.preprocessing.save(new / "preprocessing")
        preprocessing["sha256"] = _hash(new / "preprocessing")
        target.save(new)
        for split, rows in parts.items():
            examples = _examples(rows, targets[split], data.preprocessing, truncated[split])
            splits[split] = {
                **write_records(new, split, examples, features=features, num_rows=len(rows)),
                "class_counts": target.counts(rows),
                "truncated": len(truncated[split]),
            }
            if split != TRAIN:
                _write_rows(new / f"{split}.jsonl", rows)
        summary = summarize(
            parts,
            classes={split: [target.of(row) for row in rows] for split, rows in parts.items()},
            roles=data.preprocessing.fields,
            dropped=dropped,
            lengths={split: _lengths(new, split) for split in parts} if data.preprocessing.max_length else {},
            truncated=truncated,
        )
        files.write_json(new / "summary.json", summary)
        draw_classes(summary["classes"], new / "classes.png")
    show(summary)


def _divided(data: Data, target: ClassLabels, seed: int) -> tuple[dict[str, list[Row]], dict[str, list[str]]]:
    """The rows of each split, and the places of those left out, by the role that has no value."""
    dropped: dict[str, list[str]] = {role: [] for role in data.needed_roles}
    rows = _checked(data, data.source, target, dropped)
    apart = _checked(data, data.validation_source, target, dropped) if data.validation_source is not None else []
    held_out = _held_out(data, [*rows, *apart])
    rows, apart = ([row for row in some if not data.split.is_held_out(row.fields)] for some in (rows, apart))
    for source, some in ((data.source, rows), (data.validation_source, apart)):
        if source is not None and not some:
            raise DataError(
                "every row is kept aside", where=str(source.path), expected="some that `split.hold_out` leaves"
            )
    assigned = data.split.assign(
        [target.of(row) for row in rows],
        seed,
        places=[row.where for row in rows],
        with_validation=data.validation_source is None,
        groups=[row.fields[data.split.group].strip() for row in rows] if data.split.group else None,
    )
    # Records are read in windows: training rows are written in random order, so that a sorted file is mixed as well.
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 1])))
    assigned[TRAIN] = order.permutation(assigned[TRAIN])
    parts = {split: [rows[number] for number in numbers] for split, numbers in assigned.items()}
    if data.validation_source is not None:
        parts[VALIDATION] = apart
    if held_out:
        parts[TEST] = held_out
    return {split: parts[split] for split in (TRAIN, VALIDATION, TEST) if split in parts}, dropped


def _held_out(data: Data, rows: list[Row]) -> list[Row]:
    """The rows that are kept aside for the end; a value that no row has is a slip, by which rows would train."""
    for role, values in (data.split.hold_out or {}).items():
        present = {row.fields[role].strip() for row in rows}
        for value in values:
            if value not in present:
                raise DataError(
                    "no row is kept aside by `split.hold_out`",
                    where=str(data.source.path),
                    expected=f"some rows with {role}: {value}",
                    received=", ".join(sorted(present)[:SHOWN_VALUES]) + ", ..." * (len(present) > SHOWN_VALUES),
                    remedy=nearest(value, present),
                )
    return [row for row in rows if data.split.is_held_out(row.fields)]


def _checked(data: Data, source: Source, target: ClassLabels, dropped: dict[str, list[str]]) -> list[Row]:
    """The rows that can be read; one that lacks what it needs is left out."""
    kept, roles = [], data.needed_roles
    for row in source.rows():
        empty = next((role for role in roles if not row.fields[role].strip()), None)
        if empty is None:
            data.preprocessing.check(row.fields, row.where)
            target.check(row)
            kept.append(row)
        else:
            dropped[empty].append(row.where)
    if not kept:
        raise DataError(
            "no row is complete",
            where=str(source.path),
            expected=f"a value for {' and '.join(roles)} in some rows",
            received=", ".join(f"{len(places)} rows without {role}" for role, places in dropped.items() if places),
        )
    return kept


def _fit(data: Data, rows: list[Row]) -> None:
    try:
        data.preprocessing.fit(row.fields for row in rows)
    except DataError as error:  # of a column as a whole, which knows no file
        error.where = error.where or str(data.source.path)
        raise


def _examples(
    rows: list[Row], targets: list[dict[str, Any]], preprocessor: Preprocessor, truncated: list[str]
) -> Iterator[dict[str, Any]]:
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        fields = _fields(some, preprocessor)
        columns = {STORED_NAMES.get(name, name): _values(output) for name, output in preprocessor(fields).items()}
        truncated += [row.where for row, cut in zip(some, preprocessor.truncated(fields).numpy(), strict=True) if cut]
        for place in range(len(some)):
            yield {**{name: values[place] for name, values in columns.items()}, **targets[first + place]}


def _features(preprocessor: Preprocessor, row: Row) -> dict[str, Feature]:
    """What the preprocessor writes, seen from one row."""
    features = {}
    for name, output in preprocessor(_fields([row], preprocessor)).items():
        dtype = "int64" if output.dtype.is_integer else "float32"
        if isinstance(output, tf.RaggedTensor):
            feature = Feature(dtype, "sequence")
        elif output.shape.rank == 1:
            feature = Feature(dtype, "scalar")
        else:
            feature = Feature(dtype, "vector", output.shape[1])
        features[STORED_NAMES.get(name, name)] = feature
    return features


def _fields(rows: list[Row], preprocessor: Preprocessor) -> dict[str, tf.Tensor]:
    return {role: tf.constant([row.fields[role] for row in rows]) for role in preprocessor.fields}


def _values(output: tf.Tensor | tf.RaggedTensor) -> list[Any]:
    return output.to_list() if isinstance(output, tf.RaggedTensor) else output.numpy().tolist()


def _write_rows(path: Path, rows: list[Row]) -> None:
    lines = (json.dumps({"row": row.where, **row.fields}, ensure_ascii=False) for row in rows)
    files.write_text(path, "".join(f"{line}\n" for line in lines))


def _lengths(folder: Path, split: str) -> np.ndarray:
    return np.concatenate([np.load(path) for path in sorted(folder.glob(f"{split}-*.lengths.npy"))])


def _hash(folder: Path) -> str:
    saved = (path for path in folder.rglob("*") if path.is_file())
    return files.digest({str(path.relative_to(folder)): files.sha256(path) for path in saved})
