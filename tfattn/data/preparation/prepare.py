"""Data preparation: from raw files to a folder of records for training.

Rows are read in parts, in parallel with several processes, and are never in memory all at once:

    survey     collect a few bytes per row, for the split
    fit        fit the preprocessing and the targets on training rows
    scatter    encode each part as sorted records
    gather     merge the records of all parts into shards

Results of parts and shards are kept until the end, so a killed run resumes.
"""

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import files
from tfattn.console import note
from tfattn.data.batching import tokens_of
from tfattn.data.engines import results
from tfattn.data.engines.results import Folder, Result, reading
from tfattn.data.examples.encoding import by_mask, described
from tfattn.data.preparation import arrays, assignment
from tfattn.data.preparation.duplicates import find_duplicates
from tfattn.data.preparation.findings import COLUMNS, IMAGES, TEXTS
from tfattn.data.preparation.fitting import FITTED, Make, fit
from tfattn.data.preparation.gather import GATHERED, Shards, gather, shards
from tfattn.data.preparation.input_statistics import STATISTICS
from tfattn.data.preparation.scatter import SCATTERED, scatter
from tfattn.data.preparation.split_assignment import DROPPED, SPLITS, assign_splits, drop_leaks
from tfattn.data.preparation.summary import SUMMARY, Finding, SplitFindings, show, summarize
from tfattn.data.preparation.survey import SURVEY, Occurrences, Survey, survey
from tfattn.data.preparation.units import Work, fit_in_one_part, numbered_parts
from tfattn.data.records import PREPARE_AGAIN, Stored, StoredSplit, shard_name
from tfattn.data.section import Data
from tfattn.data.split_config import TRAIN
from tfattn.drawing.class_bars import class_bars
from tfattn.drawing.figures import svg
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.unknown import Unknown

_MARK = "of-"  # prefix of the file that names the identity of intermediate results


class PreparedSplit(StoredSplit):
    """The number of rows and shards, of records, and of truncated rows."""

    records: int
    truncated: int


class Facts(Stored):
    """The manifest of a prepared folder, in addition to its files.

    Attributes:
        splits: by name.
        targets: facts of the targets for tasks, see `Target.facts`.
        preprocessing: the SHA-256 of its saved files together.
        sources: the SHA-256 of each source file, by key.
        seed: seed of the split, and of the order of training records.
    """

    splits: dict[str, PreparedSplit]
    targets: dict[str, Any]
    preprocessing: str
    sources: dict[str, str]
    seed: int


def prepare(
    data: Data,
    folder: str | Path,
    seed: int,
    *,
    make: Callable[[], Data] | None = None,
    identity: str = "",
) -> None:
    """Read, check and split the rows, fit the preprocessing on training rows, and write a prepared folder.

    The folder has TFRecord shards of each split, the raw rows of validation and test (`validation.jsonl`, in the order
    of the file), `preprocessing/`, `summary.json`, `classes.svg`, with targets `statistics.json` (see
    InputStatistics), and `manifest.json` with its `Facts`. The files depend on the data and the seed only, not on the
    engine.

    Args:
        data: the built `data` section; its preprocessing is fitted here.
        folder: the prepared folder, which appears atomically.
        seed: seed of the split, and of the order of training records.
        make: creates an unfitted `data` in another process; None for preparation in this process only.
        identity: identifier of the data and settings. If set, intermediate results of a killed process are kept in the
            `work_folder` of the section, and the next preparation with the same identity resumes.

    Raises:
        DataError: a file, row or class is invalid, or a file changes during preparation; names the location.
        ConfigError: an option of the engine is invalid.
    """
    engine = data.engine
    engine.check()
    sources = data.fingerprints()
    units = list(numbered_parts(data))
    with _workspace(data, Path(folder), identity) as workspace, contextlib.closing(engine):
        work = Work(data, workspace, seed)
        # Other processes take seconds to start, longer than the preparation of a few rows.
        elsewhere = Make(make, workspace.absolute(), seed) if make and not fit_in_one_part(units) else None
        engine.run(survey, units, work, elsewhere)
        with reading(workspace / SURVEY):
            surveyed = Survey(data, workspace, units)
        if data.corrections is not None:
            note(f"{data.corrections.path}: corrected labels: {len(surveyed.corrected):,}")
            if data.max_rows is None:
                data.corrections.check_all_found(surveyed.corrected)
        split_of_row = assign_splits(data, surveyed, seed)
        if data.split.leaks == "drop":
            split_of_row = drop_leaks(split_of_row, surveyed.texts, str(data.source.path))
        found = find_duplicates(surveyed.texts, surveyed.strata.codes, split_of_row == SPLITS.index(TRAIN))
        assignment.write(workspace, starts=surveyed.starts, split_of_row=split_of_row, is_leaked=found.is_leaked)
        work = fit(work, surveyed, split_of_row)

        engine.run(scatter, units, work, elsewhere)
        present = [split for number, split in enumerate(SPLITS) if (split_of_row == number).any()]
        with reading(workspace / SCATTERED):
            scattered = results.all_opened(workspace / SCATTERED, [unit.name for unit in units])
            splits = {split: _merge_findings(scattered, split) for split in present}
            gathered = {split: list(shards(workspace, split, units)) for split in present}
        _check_examples(data, splits, gathered)
        engine.run(gather, [some for of_split in gathered.values() for some in of_split], work, elsewhere)

        # The manifest is written when the block ends, with the entries at that time.
        written: dict[str, PreparedSplit] = {}
        with (
            results.on_disk(results.opened(workspace, FITTED)) as fitted,
            files.atomic_folder(
                folder,
                splits=written,
                features=described(work.features),
                targets=data.targets.facts,
                target_fields=list(data.preprocessing.target_fields),
                preprocessing=_hash(fitted / "preprocessing"),
                sources=sources,
                seed=seed,
            ) as new,
        ):
            shutil.copytree(fitted / "preprocessing", new / "preprocessing")
            if (fitted / STATISTICS).exists():
                shutil.copy(fitted / STATISTICS, new / STATISTICS)
            for split in present:
                with reading(workspace / GATHERED):
                    _copy_shards(workspace / GATHERED, new, gathered[split])
                if split != TRAIN:
                    with reading(workspace / SCATTERED):
                        _write_raw(new, split, scattered)
                written[split] = {
                    "rows": splits[split]["rows"],
                    "records": sum(len(lengths) for lengths in _lengths(new, split)),
                    "shards": gathered[split][0].total,
                    "truncated": splits[split]["truncated"]["rows"],
                }
            measuring = {split: found.is_leaked & (split_of_row == SPLITS.index(split)) for split in present[1:]}
            summary = summarize(
                splits,
                made_of=_made_of(data),
                missing=surveyed.dropped,
                remarks=surveyed.remarks | _dropped(surveyed, split_of_row),
                empty=surveyed.empty,
                duplicates=surveyed.finding(found.is_duplicate),
                conflicts=surveyed.finding(found.is_conflicting),
                crossing={split: surveyed.finding(rows) for split, rows in measuring.items()},
                lengths=_tokens(new, present) if by_mask(work.features) else {},
                unknown_remedy=data.preprocessing.unknown_remedy,
            )
            files.write_json(new / SUMMARY, summary)
            if summary["classes"]:
                files.write_text(new / "classes.svg", svg(class_bars(summary["classes"])))
    show(summary)


def read_facts(folder: str | Path) -> Facts:
    """Read the facts of a prepared folder.

    Raises:
        DataError: its manifest is missing or damaged.
    """
    return files.read_manifest(folder, Facts, remedy=PREPARE_AGAIN)


@contextlib.contextmanager
def _workspace(data: Data, folder: Path, identity: str) -> Iterator[Folder]:
    """Yield the folder of intermediate results, with the results of a killed process of the same identity."""
    workspace = files.path_of(data.work_folder or folder.parent) / f".{folder.name}.parts"
    mark = workspace / f"{_MARK}{identity}"
    with files.disk_errors(workspace):
        if identity and mark.exists():
            note(f"resumes from intermediate results: {workspace}")
        else:
            _remove(workspace)
        workspace.mkdir(parents=True, exist_ok=True)
        mark.touch()
        try:
            yield workspace
        except (DataError, ConfigError):
            _remove(workspace)
            raise
        except BaseException:
            if not identity:
                _remove(workspace)
            raise
        _remove(workspace)


def _remove(workspace: Folder) -> None:
    """Remove intermediate results; the mark first, so that an interrupted removal is not resumed from."""
    for name in results.done(workspace):
        if name.startswith(_MARK):
            (workspace / name).unlink()
    results.remove(workspace)


def _check_examples(data: Data, found: dict[str, SplitFindings], gathered: dict[str, list[Shards]]) -> None:
    if not found[TRAIN]["rows"]:
        raise DataError(
            "the limits of the preprocessing leave no training row",
            where=str(data.source.path),
            received=f"{found[TRAIN]['left_out']['rows']} rows that are too long, or of too unequal lengths",
            remedy="Raise the limits in `data.preprocessing`.",
        )
    for split, shards_of_split in gathered.items():
        if not shards_of_split:
            raise DataError(
                f"no example can be made of the {split} rows",
                where=str(data.source.path),
                expected=data.examples.made_of,
                received=f"{found[split]['rows']:,} rows without",
            )


def _dropped(surveyed: Survey, split_of_row: np.ndarray) -> dict[str, Finding]:
    """Count the training rows that `split.leaks: drop` leaves out."""
    found = surveyed.finding(split_of_row == DROPPED)
    return {"left out of training: also a validation or test row": found} if found["rows"] else {}


def _merge_findings(scattered: Sequence[Result], split: str) -> SplitFindings:
    """Merge the statistics of all parts."""
    parts = results.each(
        lambda part: json.loads((part / f"{split}.json").read_bytes()), scattered, location=scattered[0]
    )
    unknown: dict[str, Unknown] = {}
    for part in parts:
        for name, field in part["unknown"].items():
            found = Unknown(field["counted"], field["unknown"], Counter(field["values"]))
            unknown[name] = unknown.get(name, Unknown()) + found
    return {
        "rows": sum(part["rows"] for part in parts),
        "classes": sum((Counter(part["classes"]) for part in parts), Counter()),
        "left_out": Occurrences.merge([part["left_out"] for part in parts]),
        "truncated": Occurrences.merge([part["truncated"] for part in parts]),
        "unknown": unknown,
    }


def _copy_shards(gathered: Folder, folder: Path, units: Sequence[Shards]) -> None:
    """Copy all shards of a split into a folder."""
    for unit in units:
        results.copy(results.opened(gathered, unit.name), folder)
        for number in range(unit.first, unit.first + len(unit.bounds) - 1):
            shard = folder / shard_name(unit.split, number, unit.total)
            for path in (shard, shard.with_suffix(".lengths.npy"), shard.with_suffix(".rows.npy")):
                path.stat()  # raises if a file was removed


def _write_raw(folder: Path, split: str, parts: Sequence[Result]) -> None:
    """Concatenate the raw rows of all parts, and their leak flags."""
    with open(folder / f"{split}.jsonl", "wb") as whole:
        for part in parts:
            with (part / f"{split}.jsonl").open("rb") as lines:
                shutil.copyfileobj(lines, whole)
    np.save(folder / f"{split}.leaked.npy", arrays.concatenate([part / f"{split}.leaked.npy" for part in parts]))


def _lengths(folder: Path, split: str) -> list[np.ndarray]:
    return [np.load(path) for path in sorted(folder.glob(f"{split}-*.lengths.npy"))]


def _tokens(folder: Path, splits: Sequence[str]) -> dict[str, np.ndarray]:
    """Read the number of tokens of each record by split, separately for source and target if records have both."""
    lengths = {}
    for split in splits:
        measured = np.concatenate(_lengths(folder, split))
        columns = measured.T if measured.ndim == 2 else [tokens_of(measured)]
        names = [split] if len(columns) == 1 else [f"{split}, source", f"{split}, target"]
        lengths |= dict(zip(names, columns, strict=True))
    return lengths


def _made_of(data: Data) -> str:
    return COLUMNS if data.preprocessing.reads_columns else IMAGES if data.preprocessing.file_fields else TEXTS


def _hash(folder: Path) -> str:
    saved = (path for path in folder.rglob("*") if path.is_file())
    return files.digest({str(path.relative_to(folder)): files.sha256(path) for path in saved})
