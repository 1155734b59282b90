"""The page of a profile, in the format of reports."""

from collections.abc import Iterable, Iterator
from typing import Any

from tfattn.data.preparation.findings import brief
from tfattn.drawing.class_bars import class_bars
from tfattn.drawing.figures import svg
from tfattn.evaluation.report import Headline, Marked, Picture, Piece, Report, Section, Table, Text
from tfattn.evaluation.wording import count, number, percent
from tfattn.profiling.columns import Column
from tfattn.profiling.predictive_power import GIVES_AWAY
from tfattn.profiling.profile import Profile, lengths_by_split

MAX_CLASSES = 20  # further classes are collapsed
MAX_PAIRS = 20
QUANTILE_NAMES = ["minimum", "25%", "median", "75%", "maximum"]
MAX_CHARACTERS = 120  # of a row


def report_of(profile: Profile) -> Report:
    """Return the report of a profile."""
    rows = profile.rows
    facts = {split: count(len(some), "row") for split, some in rows.splits.items()}
    facts |= {"inputs": f"{len(profile.columns):,}", "different targets": f"{len(set(rows.targets)):,}"}
    sentence = (
        "Possible problems of the raw data, the most important first." if profile.findings else "Nothing was found."
    )
    return Report(
        title=f"Profile of {profile.name}",
        subtitle=str(rows.data.source.path),
        headline=Headline(count(len(profile.findings), "finding"), sentence, [], facts),
        sections=list(_sections(profile)),
    )


def _sections(profile: Profile) -> Iterator[Section]:
    if profile.findings:
        lines = [
            (finding.where, [Piece(str(finding).removeprefix(f"{finding.where}: "))]) for finding in profile.findings
        ]
        yield Section("Findings", [Marked(lines)])
    yield _rows(profile)
    yield _columns(profile)
    if profile.lengths is not None:
        yield _lengths(profile)
    if profile.near:
        yield _near(profile)
    for split, drifts in profile.drifts.items():
        cells = [
            [drift.name, drift.index, f"{drift.p_value:.2g}", "drift" if drift.is_drift else ""] for drift in drifts
        ]
        words = (
            f"The distribution of each input and of the target in the {split} rows, compared with the training rows."
        )
        table = Table(["input", "population stability index", "p-value", ""], cells)
        yield Section(f"Drift of the {split} rows", [Text(words), table])


def _rows(profile: Profile) -> Section:
    splits, classes = profile.rows.splits, profile.classes()
    counts = [[name, *of_split.values()] for name, of_split in classes.items()]
    folded = f"Rows of all {len(counts)} classes" if len(counts) > MAX_CLASSES else ""
    whole = ["all", *(len(rows) for rows in splits.values())]
    parts: list[Any] = [Table(["class" if counts else "rows", *splits], [*counts, whole], folded=folded)]
    if counts:
        parts.append(Picture("classes", svg(class_bars(classes)), "Rows of each class, by split"))
    return Section("Rows", parts)


def _columns(profile: Profile) -> Section:
    words = (
        "The score is that of a model of the column alone: 0 is chance, and from "
        f"{GIVES_AWAY} on the column gives the target away. Texts are measured in words."
    )
    numbers = [_cells(column, profile, column.quantiles) for column in profile.columns if column.quantiles]
    categories = [_cells(column, profile, [_frequent(column)]) for column in profile.columns if not column.quantiles]
    first = ["input", "kind", "missing", "different", *(["score"] if profile.powers else [])]
    tables = [
        Table([*first, *names], cells)
        for names, cells in ((QUANTILE_NAMES, numbers), (["most frequent"], categories))
        if cells
    ]
    return Section("Inputs", [Text(words), *tables])


def _cells(column: Column, profile: Profile, values: Iterable[str | float]) -> list[str | int | float]:
    power = [profile.powers[column.name]] if profile.powers else []
    return [column.name, column.kind, int(column.missing.sum()), column.distinct, *power, *values]


def _frequent(column: Column) -> str:
    return _short(", ".join(f"{value} ({rows:,})" for value, rows in column.frequent.items()))


def _lengths(profile: Profile) -> Section:
    lengths = profile.lengths
    assert lengths is not None
    unit, rows = lengths.unit, lengths_by_split(profile.rows, lengths)
    words = (
        "Lengths in tokens of the vocabulary of the pretrained weights."
        if unit == "tokens"
        else "Lengths in words, because a vocabulary is trained later; a word has at least one token. Unknown are "
        "words that no training row has."
    )
    limit = f"longer than {lengths.max_length}" if lengths.max_length else "truncated"
    columns = ["", "median", "95%", "longest", limit, f"unknown {unit}"]
    cells = [
        [
            split,
            found["median"],
            found["95 %"],
            found["longest"],
            percent(found["truncated"]),
            percent(found["unknown"]),
        ]
        for split, found in rows.items()
    ]
    return Section("Lengths of the texts", [Text(words), Table(columns, cells)])


def _near(profile: Profile) -> Section:
    rows = profile.rows
    lines = [
        (
            f"{brief([rows[pair.second]])} is like {brief([rows[pair.first]])}: {number(pair.similarity)}",
            [Piece(_short(rows.contents[pair.second]))],
        )
        for pair in sorted(profile.near, key=lambda pair: -pair.similarity)[:MAX_PAIRS]
    ]
    words = f"{count(len(profile.near), 'pair')} of rows that are nearly equal, the most similar first; 1 is equal."
    return Section("Near duplicates", [Text(words), Marked(lines)])


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
