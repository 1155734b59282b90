"""The rows of an input file, as they come: text lines, csv or tsv with named columns, JSON lines, or another format.

What is wrong with a row is said of that row, and the next one is read; what is wrong with the file ends it.
"""

import csv
import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfattn import files, registry
from tfattn.errors import DataError, listed
from tfattn.formats.columns import Columns, columns_in, value_of
from tfattn.formats.delimiters import likely_delimiter
from tfattn.formats.file_formats import FILE_FORMATS, INPUT_KINDS, InputKind
from tfattn.formats.json_objects import object_of, text_of, texts_of
from tfattn.formats.limits import MAX_TEXT_LENGTH, too_long
from tfattn.formats.training_file import FileFormat, TrainingFile
from tfattn.serving.client.input_lines import InputLines, opened


@dataclass(frozen=True)
class InputRow:
    """A row of inputs.

    Attributes:
        fields: input name to text, or to a list of texts; nothing where the row cannot be read.
        where: file:line, its first line.
        problem: why the row cannot be read; None where it can.
        columns: all columns of the row by their own names, as far as they can be read.
    """

    fields: dict[str, str | list[str]] = field(default_factory=dict)
    where: str = ""
    problem: DataError | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)


def read(
    path: str, trained_on: TrainingFile, *, kind: InputKind | None = None, lists: Collection[str] = ()
) -> Iterator[InputRow]:
    """Read rows, one at a time.

    A file whose suffix is that of the training file is read as that one was; any other is UTF-8, of the kind that its
    suffix says. Where the suffix says nothing, it is text, or of the training file's format if rows of that are no
    lines. A file compressed by gzip or bzip2 is read as what it holds.

    A text line is a row, an empty one too, so that line n has its prediction on line n. In csv, tsv and jsonl an input
    is read from the column or key that it was trained on, or else from that of its own name, and other columns are left
    out; blank lines are no rows. A row of another format that cannot be read ends the reading.

    Args:
        path: the file; `-` is standard input.
        trained_on: each input that a row needs and the column it was trained on, and how that file was read.
        kind: how to read it, in UTF-8; as above where not given.
        lists: the inputs that are lists of texts: in JSON lines a list, in a table the columns that it was trained on.

    Raises:
        DataError: the file cannot be read, is not of its format, has no rows, or lacks a column; names file and line.
    """
    how = _format(path, trained_on, kind)
    if how.kind not in _READERS:
        yield from _of_source(path, trained_on.columns, how, lists)
        return
    with opened(path, how) as lines:
        count = 0
        for row in _READERS[how.kind](lines, trained_on.columns, how, lists):
            count += 1
            yield row
        if not count:
            what = "the file holds a header but no rows" if how.kind == "csv" else "the file holds no rows"
            raise DataError(what if lines.number else "the file is empty", where=lines.place)


def _format(path: str, trained_on: TrainingFile, kind: InputKind | None) -> FileFormat:
    suffix, trained = files.unpacked(path).suffix.lower(), trained_on.format
    if kind is None:
        if trained and suffix == trained_on.suffix:
            return trained
        kind = INPUT_KINDS.get(suffix)
        if kind is None and suffix and suffix == trained_on.suffix:
            raise DataError(
                "rows of the training file's format cannot be read",
                where=path,
                expected=f"a file of another suffix than {suffix}",
                remedy="Write the rows as text lines, csv, tsv or jsonl; `--format` says what a file is.",
            )
        if kind is None and path != "-" and trained and trained.kind not in _READERS:
            return trained
    return FileFormat("csv", delimiter="\t") if kind == "tsv" else FileFormat(kind or "text")


def _of_source(
    path: str, columns: Mapping[str, Columns], how: FileFormat, lists: Collection[str]
) -> Iterator[InputRow]:
    """Read rows by the class that reads their format for training."""
    if path == "-":
        raise DataError(
            f"a file of the format {how.kind} cannot be read from standard input",
            where="standard input",
            remedy="Name the file as `--input`, or give rows in another format: `--format`.",
        )
    try:
        source = registry.load(FILE_FORMATS[how.kind].source).of_inputs(path, columns, how)
        if missing := columns.keys() - source.fields.keys():
            raise DataError(
                f"the format {how.kind} has no such input",
                where=path,
                expected=listed(source.fields),
                received=listed(sorted(missing)),
                remedy="`--format` says what the file is, where its suffix does not.",
            )
        for row in source.rows():
            try:
                read = {name: (texts_of if name in lists else text_of)(row.fields, name, row.where) for name in columns}
                yield InputRow(read, row.where, columns=row.columns or row.fields)
            except DataError as problem:
                yield InputRow(where=row.where, problem=problem)
    except DataError as error:
        error.remedy = error.remedy.replace("`path`", "`--input`")
        raise


def _text(
    lines: InputLines, columns: Mapping[str, Columns], how: FileFormat, lists: Collection[str]
) -> Iterator[InputRow]:
    if len(columns) > 1:
        raise DataError(
            "the model reads more than one input, a text line is only one",
            where=lines.place,
            expected=f"csv, tsv or jsonl with {', '.join(columns)}",
            received="text lines",
            remedy="`--format` says what the file is, where its suffix does not.",
        )
    (name,) = columns
    for line in lines:
        text = line.removesuffix("\n").removesuffix("\r")
        if len(text) > MAX_TEXT_LENGTH:
            yield InputRow(where=lines.where(), problem=too_long("the line", lines.where(), MAX_TEXT_LENGTH))
        else:
            yield _row({name: text}, lines.where(), lines, columns={name: text})


def _table(
    lines: InputLines, columns: Mapping[str, Columns], how: FileFormat, lists: Collection[str]
) -> Iterator[InputRow]:
    csv.field_size_limit(MAX_TEXT_LENGTH)
    quoting = csv.QUOTE_MINIMAL if how.quoting else csv.QUOTE_NONE
    reader = csv.reader(iter(lines), delimiter=how.delimiter, quoting=quoting, strict=True)
    positions: dict[str, int] | None = None
    names: list[str] = []
    width = 0
    while True:
        where = lines.where(1)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = DataError(f"cannot read the row ({error})", where=where, remedy=_QUOTES)
            if positions is None:
                raise problem from None
            yield InputRow(where=where, problem=lines.take_problem() or problem)
            continue
        if not cells:
            continue
        if positions is None:
            width, found = len(cells), _found(cells, columns, how, where, lists)
            names = _names(cells, how)
            positions = _positions(names, found, where)
            if how.header:
                continue
        if len(cells) != width:
            problem = DataError(
                "the row does not fit the header" if how.header else "the row does not fit the first one",
                where=where,
                expected=f"{width} cells",
                received=str(len(cells)),
                remedy=_QUOTES,
            )
            yield InputRow(where=where, problem=lines.take_problem() or problem)
        else:
            cell = _cell_of(cells, positions)
            read = {name: value_of(columns, cell) for name, columns in found.items()}
            yield _row(read, where, lines, columns=dict(zip(names, cells, strict=True)))


def _json_lines(
    lines: InputLines, columns: Mapping[str, Columns], how: FileFormat, lists: Collection[str]
) -> Iterator[InputRow]:
    for line in lines:
        if not line.strip():
            continue
        where = lines.where()
        value: dict[str, Any] = {}
        try:
            value = object_of(line, where)
            # A list that was made of columns has a key of its own name.
            names = {name: wanted if isinstance(wanted, str) else name for name, wanted in columns.items()}
            keys = _columns(names, list(value), where)
            fields = {
                name: texts_of(value, key, where) if name in lists else text_of(value, key, where)
                for name, key in keys.items()
            }
            yield _row(fields, where, lines, columns=value)
        except DataError as problem:
            yield InputRow(where=where, problem=lines.take_problem() or problem, columns=value)


def _row(fields: dict[str, str | list[str]], where: str, lines: InputLines, *, columns: Mapping[str, Any]) -> InputRow:
    problem = lines.take_problem()
    return InputRow(where=where, problem=problem) if problem else InputRow(fields, where, columns=columns)


def _cell_of(cells: Sequence[str], positions: Mapping[str, int]) -> Callable[[str], str]:
    return lambda column: cells[positions[column]]


def _found(
    header: Sequence[str], columns: Mapping[str, Columns], how: FileFormat, where: str, lists: Collection[str]
) -> dict[str, Columns]:
    """Find the columns of each input: the columns that it was trained on, or the column with its name."""
    present = _names(header, how)
    try:
        single = _columns({name: wanted for name, wanted in columns.items() if name not in lists}, present, where)
        return {
            name: _list_columns(name, wanted, present, where) if name in lists else single[name]
            for name, wanted in columns.items()
        }
    except DataError as error:
        error.remedy = _other_delimiter(header, columns, how) or error.remedy
        raise


def _names(header: Sequence[str], how: FileFormat) -> list[str]:
    return list(header) if how.header else [str(number) for number in range(1, len(header) + 1)]


def _positions(present: Sequence[str], found: Mapping[str, Columns], where: str) -> dict[str, int]:
    """Find the position of each column that is read."""
    names = [name for columns in found.values() for name in columns_in(columns)]
    for name in names:
        if present.count(name) > 1:
            raise DataError("two columns have the same name", where=where, received=repr(name))
    return {name: present.index(name) for name in names}


def _list_columns(name: str, trained_on: Columns, present: list[str], where: str) -> Columns:
    """Return the columns of a list of texts."""
    missing = [column for column in columns_in(trained_on) if column not in present]
    if isinstance(trained_on, str) or missing:
        raise DataError(
            f"there are no columns for the list `{name}`",
            where=where,
            expected="JSON lines" if isinstance(trained_on, str) else listed(missing),
            received=listed(present) or "nothing",
            remedy=f'In JSON lines it is a list: {{"{name}": ["...", "..."]}}.',
        )
    return trained_on


def _columns(wanted: Mapping[str, str], present: Sequence[str], where: str) -> dict[str, str]:
    """Return the column of each input: the column that it was trained on, or the column of its own name."""
    found = {name: [one for one in (trained_on, name) if one in present] for name, trained_on in wanted.items()}
    missing = [name for name, columns in found.items() if not columns]
    if not missing:
        return {name: columns[0] for name, columns in found.items()}
    name, trained_on = missing[0], wanted[missing[0]]
    near = difflib.get_close_matches(name, present, n=1) or difflib.get_close_matches(trained_on, present, n=1)
    is_alone = len(missing) == 1
    names = dict.fromkeys((trained_on, name)) if is_alone else [wanted[one] for one in missing]
    raise DataError(
        f"there is no column for the input `{name}`" if is_alone else f"{len(missing)} of the inputs have no columns",
        where=where,
        expected=" or ".join(names) if is_alone else listed(names),
        received=listed(present) or "nothing",
        remedy=f"Rename `{near[0]}`?" if near else "Rename the columns, or take the file that the model was made for.",
    )


def _other_delimiter(header: Sequence[str], columns: Mapping[str, Columns], how: FileFormat) -> str:
    """Suggest another delimiter where a header is one cell, but would be several with it."""
    known = [column for wanted in columns.values() for column in columns_in(wanted)]
    likely = likely_delimiter(header, known) if len(header) == 1 else None
    if likely is None:
        return ""
    options = {",": "`--format csv` reads such a file.", "\t": "`--format tsv` reads such a file."}
    remedy = options.get(likely, "Save it with commas, and give `--format csv`.")
    return f"The file seems to be separated by {likely!r}, not by {how.delimiter!r}. {remedy}"


_QUOTES = "Quote cells that contain the delimiter or quotes."
_READERS = {"text": _text, "csv": _table, "jsonl": _json_lines}
