"""A report as data (a headline, then sections of text, tables, pictures and listings), and the one page that shows it.

The page stands alone: its style and pictures are inside it, it has no script and asks no network, and whatever comes
from data is escaped. It is read on a phone and in the dark as well. It knows nothing of any task; each task fills in
its own sections.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import jinja2
from markupsafe import Markup

from tfattn import files
from tfattn.drawing.colours import DARK, LIGHT
from tfattn.drawing.svg import part_of_page
from tfattn.evaluation.wording import number


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Table:
    """Columns of cells: numbers and per cents are on the right, text on the left.

    Args:
        columns: the head of each column.
        rows: the cells, strings as they are to be shown, or numbers.
        folded: words to click on to see the table; if empty, it is shown at once.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    folded: str = ""

    def __post_init__(self):
        assert self.rows, f"a table of nothing is not shown: {self.columns}"

    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers only."""
        return [all(map(_is_number, cells)) for cells in zip(*self.rows, strict=True)]


@dataclass(frozen=True)
class Picture:
    """An SVG picture; `name` is its file's under plots/, `words` say what it shows to those who cannot see it."""

    kind: ClassVar[str] = "picture"
    name: str
    svg: str
    words: str

    def element(self) -> Markup:
        """Draw the picture as a part of the page, in the page's colours."""
        return Markup(part_of_page(self.svg, self.name))


@dataclass(frozen=True)
class Panels:
    """Pictures side by side where the page is wide enough."""

    kind: ClassVar[str] = "panels"
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Listing:
    """Lines in a fixed width, behind words to click on."""

    kind: ClassVar[str] = "listing"
    text: str
    folded: str


class Piece(NamedTuple):
    """A part of a marked text.

    Attributes:
        text: the text.
        kind: "right", "missed" or "wrong", each of a colour of its own; "" for text that is not marked.
        label: a word after it in small letters.
    """

    text: str
    kind: str = ""
    label: str = ""


@dataclass(frozen=True)
class Marked:
    """Texts with marks in colours.

    Args:
        lines: the label of each text, and its pieces.
    """

    kind: ClassVar[str] = "marked"
    lines: Sequence[tuple[str, Sequence[Piece]]]


def pieces(text: str, marks: Sequence[tuple[int, int, str, str]]) -> list[Piece]:
    """Divide a text at its marks.

    Args:
        text: what is marked.
        marks: of each the first character, the one after its last, its kind and its label; they do not overlap.

    Example:
        >>> pieces("to Rome", [(3, 7, "right", "LOC")])
        [Piece(text='to ', kind='', label=''), Piece(text='Rome', kind='right', label='LOC')]
    """
    found, end = [], 0
    for start, behind, kind, label in sorted(marks):
        found += [Piece(text[end:start]), Piece(text[start:behind], kind, label)]
        end = behind
    return [piece for piece in [*found, Piece(text[end:])] if piece.text]


@dataclass(frozen=True)
class Gallery:
    """Small images side by side, each with words below it.

    Args:
        images: of each the bytes of a PNG, and the words.
    """

    kind: ClassVar[str] = "gallery"
    images: Sequence[tuple[bytes, str]]

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Each image as an address that holds all of it, and its words."""
        for data, words in self.images:
            yield f"data:image/png;base64,{base64.b64encode(data).decode()}", words


@dataclass(frozen=True)
class Section:
    """A title and the parts below it."""

    title: str
    parts: Sequence[Text | Table | Picture | Panels | Listing | Marked | Gallery]


@dataclass(frozen=True)
class Headline:
    """What somebody who reads one line should know.

    Args:
        metric: the one metric, as shown, such as "95.8%".
        sentence: what it says in plain words.
        warnings: reasons not to trust it, a sentence each; shown before all else.
        remarks: what it has to be seen against, a sentence each.
        facts: a few more metrics, by their names.
    """

    metric: str
    sentence: str
    remarks: Sequence[str]
    facts: dict[str, str]
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str
    subtitle: str
    headline: Headline
    sections: Sequence[Section]

    def pictures(self) -> Iterator[Picture]:
        """Every picture, in order."""
        for part in (part for section in self.sections for part in section.parts):
            if isinstance(part, Picture):
                yield part
            elif isinstance(part, Panels):
                yield from part.pictures


def render(report: Report) -> str:
    """Render the report as one HTML page."""
    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = _shown
    return environment.get_template("report.html").render(report=report, light=LIGHT, dark=DARK)


def write(report: Report, folder: Path) -> None:
    """Write `report.html`, and its pictures as `plots/NAME.svg`."""
    for picture in report.pictures():
        files.write_text(folder / "plots" / f"{picture.name}.svg", picture.svg)
    files.write_text(folder / "report.html", render(report))


def _shown(cell: str | int | float) -> str:
    if isinstance(cell, int):
        return f"{cell:,}"
    return number(cell) if isinstance(cell, float) else cell


def _is_number(cell: str | int | float) -> bool:
    return not isinstance(cell, str) or (cell.endswith("%") and cell[:1].isdigit())
