"""The raw rows of a pipeline, by column and split: the same rows and splits as in preparation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tfattn.config.build import build
from tfattn.config.schema import Config
from tfattn.data.corrections import Corrections
from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.preparation.input_statistics import as_text
from tfattn.data.preparation.split_assignment import DROPPED, SPLITS, assign_splits, drop_leaks
from tfattn.data.preparation.survey import Occurrences, complete_rows, content_hash, normalized
from tfattn.data.preparation.units import Rows, numbered_parts
from tfattn.data.raw_data import RawData
from tfattn.data.split_config import TRAIN
from tfattn.errors import ConfigError, DataError
from tfattn.features import LABEL, LABELS, TARGET
from tfattn.formats.source import Row

Kind = Literal["number", "category", "text"]
ROLES = (LABEL, TARGET, LABELS)  # of targets that a profile reads


class ProfiledData(RawData):
    """The `data` section of a pipeline of texts or of a table, without its preprocessing.

    Args:
        config: the resolved configuration.

    Attributes:
        inputs: the kind of each input of the model, by column or role.
        target: the role of the target.
        markers: the texts that mean a missing value of an input of a table.

    Raises:
        ConfigError: the rows are no texts and no table, or the task has another target than a class, a number or
            labels.
    """

    def __init__(self, config: Config):
        section = config.values["data"]
        preprocessing = section["preprocessing"]
        self.inputs = _inputs(preprocessing)
        self.targets = build(config, "data", "targets")
        self.target = next((role for role in ROLES if role in self.targets.roles), "")
        if not self.inputs or not self.target:
            raise ConfigError(
                "this pipeline cannot be profiled",
                where=config.where("data", "preprocessing") if not self.inputs else config.where("task"),
                expected="texts or a table, with a class, a number or labels as target",
                received=preprocessing["name"] if not self.inputs else config.values["task"]["name"],
            )
        self.source, self.split = build(config, "data", "source"), build(config, "data", "split")
        given = section["validation_source"]
        self.validation_source = None if given is None else build(config, "data", "validation_source")
        self.missing, self.max_rows = section["missing"] or {}, section["max_rows"]
        self.corrections = Corrections(section["corrections"]) if section["corrections"] else None
        self.may_lack_inputs = "numeric" in preprocessing
        self.markers = tuple(preprocessing["missing"]) if self.may_lack_inputs else ()
        if self.may_lack_inputs:
            for source in self.sources.values():
                source.add_columns(list(self.inputs))

    def compared_roles(self, key: str) -> tuple[str, ...]:
        return tuple(self.inputs)

    def text_roles(self, key: str) -> tuple[str, ...]:
        return (*self.targets.text_roles, *self.split.roles)


def _inputs(preprocessing: dict[str, Any]) -> dict[str, Kind]:
    if "numeric" in preprocessing:
        numbers: dict[str, Kind] = dict.fromkeys(preprocessing["numeric"], "number")
        return numbers | dict.fromkeys(preprocessing["categorical"], "category")
    return dict.fromkeys(preprocessing.get("fields") or (), "text")


@dataclass
class RawRows:
    """N complete rows; what `assign_splits` reads of a survey, and the values of all columns.

    Attributes:
        data: the section.
        columns: the N values of each input, as texts.
        contents: the normalized content of each row, for comparison.
        targets: the target of each row: a class, a number as text, or JSON of labels.
        strata, groups: for the split.
        is_held_out, is_apart: (N,) bool, rows of `split.hold_out`, and of the validation source.
        locations: file and line of each row.
        dropped: by role, the number of rows without a value, and the locations of the first.
        values: the values of each role of `split.hold_out`.
        split_of_row: (N,) int8, indices in SPLITS, or DROPPED.
        problem: why the rows cannot be split; then all are training rows.
    """

    data: ProfiledData
    columns: dict[str, list[str]]
    contents: list[str] = field(repr=False)
    targets: list[str] = field(repr=False)
    strata: DictionaryEncoded
    groups: DictionaryEncoded
    is_held_out: np.ndarray
    is_apart: np.ndarray
    locations: list[str] = field(repr=False)
    dropped: dict[str, dict[str, Any]]
    values: dict[str, list[str]]
    units: Sequence[Rows]
    starts: np.ndarray
    split_of_row: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))
    problem: DataError | None = None

    def __len__(self) -> int:
        return len(self.locations)

    def __getitem__(self, row: int) -> str:
        return self.locations[row]

    @property
    def splits(self) -> dict[str, np.ndarray]:
        """The indices of the rows of each split that has rows, ascending."""
        found = {split: np.flatnonzero(self.split_of_row == number) for number, split in enumerate(SPLITS)}
        return {split: rows for split, rows in found.items() if len(rows)}

    def ignore(self, names: Collection[str]) -> None:
        """Compare rows without the columns `names`, such as identifiers, which make all rows different."""
        compared = [name for name in self.columns if name not in names]
        cells = zip(*(self.columns[name] for name in compared), strict=True)
        self.contents = [normalized(Row(dict(zip(compared, row, strict=True)), ""), compared) for row in cells]

    @property
    def hashes(self) -> np.ndarray:
        """(N,) uint64, hashes of the content of rows."""
        return np.fromiter(map(content_hash, self.contents), np.uint64, len(self))


def read_rows(config: Config) -> RawRows:
    """Read and split all rows of a pipeline, as preparation does.

    Raises:
        ConfigError: as `ProfiledData`.
        DataError: a file cannot be read, a target is invalid, or no row is complete; names file and line.
    """
    data = ProfiledData(config)
    units = list(numbered_parts(data))
    dropped = {role: Occurrences() for key in data.sources for role in data.needed_roles(key)}
    columns: dict[str, list[str]] = {name: [] for name in data.inputs}
    values: dict[str, set[str]] = {role: set() for role in data.split.hold_out or {}}
    contents, targets, strata, groups, is_held_out, is_apart, locations = [], [], [], [], [], [], []
    starts = [0]
    for unit in units:
        for row in complete_rows(data, unit, dropped):
            data.targets.check(row)
            for name, cells in columns.items():
                cells.append(as_text(row.fields[name]))
            contents.append(normalized(row, tuple(data.inputs)))
            strata.append(data.targets.stratum(row))
            targets.append(strata[-1] or as_text(row.fields[data.target]).strip())
            groups.append(row.fields[data.split.group].strip() if data.split.group else "")
            is_held_out.append(data.split.is_held_out(row.fields))
            is_apart.append(unit.source != "source")
            locations.append(row.where)
            for role, seen in values.items():
                seen.add(row.fields[role].strip())
        starts.append(len(locations))
    rows = RawRows(
        data=data,
        columns=columns,
        contents=contents,
        targets=targets,
        strata=DictionaryEncoded.of(strata),
        groups=DictionaryEncoded.of(groups),
        is_held_out=np.array(is_held_out, bool),
        is_apart=np.array(is_apart, bool),
        locations=locations,
        dropped={role: vars(found) for role, found in dropped.items()},
        values={role: sorted(seen) for role, seen in values.items()},
        units=units,
        starts=np.array(starts),
    )
    _split(rows, config.values["seed"])
    return rows


def _split(rows: RawRows, seed: int) -> None:
    """Split the rows; rows that cannot be split, such as a class of a single row, are all training rows."""
    try:
        rows.split_of_row = assign_splits(rows.data, rows, seed)
        if rows.data.split.leaks == "drop":
            rows.split_of_row = drop_leaks(rows.split_of_row, rows.hashes, str(rows.data.source.path))
    except DataError as error:
        if not len(rows):
            raise
        rows.problem = error
        rows.split_of_row = np.full(len(rows), SPLITS.index(TRAIN), np.int8)


def is_kept(rows: RawRows) -> np.ndarray:
    """Return whether each row is in a split: (N,) bool."""
    return rows.split_of_row != DROPPED
