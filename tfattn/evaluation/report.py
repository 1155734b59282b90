"""Reports as data (a headline and sections of text, tables, pictures and listings), and their HTML page.

The page is a single file with its style and pictures, without scripts or network requests; all data is escaped. It
supports phones and dark mode. Reports are independent of tasks; each task provides its sections.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import jinja2
from markupsafe import Markup, escape

from tfattn import files
from tfattn.drawing.colours import DARK, LIGHT
from tfattn.drawing.svg import to_page_element
from tfattn.evaluation.wording import number

# A location such as reports.csv:12, or a path with several folders; the text is escaped already.
_PATH = re.compile(r"(?<![^\s(,])[^\s,;&()]*(?:\.\w+:\d+|/[^\s,;&()]*/[^\s,;&()]+)")


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Table:
    """A table; numbers and percentages are right-aligned.

    Args:
        columns: the column headers.
        rows: the cells, numbers or formatted strings.
        folded: the summary of a collapsed table; if empty, the table is expanded.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float]]
    folded: str = ""

    def __post_init__(self):
        assert self.rows, f"the table has no rows: {self.columns}"

    def numeric(self) -> list[bool]:
        """Return for each column whether all cells are numbers."""
        return [all(map(_is_number, cells)) for cells in zip(*self.rows, strict=True)]


@dataclass(frozen=True)
class Picture:
    """An SVG picture; `name` is its file name under plots/, `words` its alternative text."""

    kind: ClassVar[str] = "picture"
    name: str
    svg: str
    words: str

    def element(self) -> Markup:
        """Return the picture as an element of the page, with the colours of the page."""
        return Markup(to_page_element(self.svg, self.name))


@dataclass(frozen=True)
class Panels:
    """Pictures in a row on wide pages."""

    kind: ClassVar[str] = "panels"
    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Listing:
    """Collapsed monospace lines."""

    kind: ClassVar[str] = "listing"
    text: str
    folded: str


class Piece(NamedTuple):
    """A part of a highlighted text.

    Attributes:
        text: the text.
        kind: "right", "missed", "wrong", "raises" or "lowers", which determines the colour; "" for plain text.
        label: a small suffix.
        strength: 0 to 1, the opacity of the colour of "raises" and "lowers"; None for the other kinds.
    """

    text: str
    kind: str = ""
    label: str = ""
    strength: float | None = None


@dataclass(frozen=True)
class Marked:
    """Texts with coloured highlights.

    Args:
        lines: pairs of a label and the pieces of a text.
    """

    kind: ClassVar[str] = "marked"
    lines: Sequence[tuple[str, Sequence[Piece]]]


def pieces(text: str, marks: Sequence[tuple[int, int, str, str]]) -> list[Piece]:
    """Split a text at its marks.

    Args:
        text: the text.
        marks: start, end, kind and label of each mark, without overlaps.

    Example:
        >>> pieces("to Rome", [(3, 7, "right", "LOC")])
        [Piece(text='to ', kind='', label=''), Piece(text='Rome', kind='right', label='LOC')]
    """
    found, end = [], 0
    for start, mark_end, kind, label in sorted(marks):
        found += [Piece(text[end:start]), Piece(text[start:mark_end], kind, label)]
        end = mark_end
    return [piece for piece in [*found, Piece(text[end:])] if piece.text]


@dataclass(frozen=True)
class Gallery:
    """Small images with captions.

    Args:
        images: pairs of PNG bytes and a caption.
    """

    kind: ClassVar[str] = "gallery"
    images: Sequence[tuple[bytes, str]]

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Yield the data URL and the caption of each image."""
        for data, words in self.images:
            yield f"data:image/png;base64,{base64.b64encode(data).decode()}", words


@dataclass(frozen=True)
class Section:
    """A section with a title."""

    title: str
    parts: Sequence[Text | Table | Picture | Panels | Listing | Marked | Gallery]


@dataclass(frozen=True)
class Headline:
    """The main result of a report.

    Args:
        metric: the main metric, formatted, such as "95.8%".
        sentence: an explanation of the metric.
        warnings: reasons not to trust the metric, a sentence each; shown first.
        remarks: baselines and intervals for comparison, a sentence each.
        facts: further metrics by name.
    """

    metric: str
    sentence: str
    remarks: Sequence[str]
    facts: dict[str, str]
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """A report."""

    title: str
    subtitle: str
    headline: Headline
    sections: Sequence[Section]

    def pictures(self) -> Iterator[Picture]:
        """Yield all pictures, in order."""
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
    environment.filters["with_paths"] = _with_paths
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


def _with_paths(text: str) -> Markup:
    """Escape a text, and mark paths and locations, which the page does not break."""
    return Markup(_PATH.sub(r'<span class="path">\g<0></span>', str(escape(text))))


def _is_number(cell: str | int | float) -> bool:
    return not isinstance(cell, str) or (cell.endswith("%") and cell[:1].isdigit())
