"""The code blocks of the documents: commands, transcripts, files and parts of files."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
# Those that a user reads: their commands and files are tried.
DOCUMENTS = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
# Each is run as a whole, in a folder of its own.
TUTORIALS = sorted((PROJECT / "docs/tutorials").glob("*.md"))
FENCE = re.compile(
    r"^(?:<!-- checked, not run: (?P<not_run>[^>]*) -->\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"# (?P<part_of>in )?(?P<path>[\w./-]+\.(?:py|yaml))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document.

    Attributes:
        place: the document and the line on which the text begins.
        language: after the fence.
        text: between the fences.
        not_run: why its commands are only checked, as the comment before the block says; else empty.
        path: the file that a first comment names; None where there is none.
        is_part: whether the block is a part of that file, and not all of it.
    """

    place: str
    language: str
    text: str
    not_run: str
    path: Path | None
    is_part: bool

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command; of a transcript, those behind a prompt."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of all documents in some languages."""
    return [block for document in DOCUMENTS for block in blocks_of(document) if block.language in languages]


def joined(base: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Lay a part of a pipeline over the whole; a section that names its class or where it starts replaces the other."""
    values = dict(base)
    for key, value in part.items():
        is_whole = not isinstance(value, dict) or not isinstance(values.get(key), dict) or {"name", "from"} & set(value)
        values[key] = value if is_whole else joined(values[key], value)
    return values


def blocks_of(document: Path) -> list[Block]:
    """Return the blocks of a document."""
    text = document.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("text")) + 1
        file = FILE.match(fence["text"])
        found.append(
            Block(
                place=f"{document.relative_to(PROJECT)}:{line}",
                language=fence["language"],
                text=fence["text"],
                not_run=fence["not_run"] or "",
                path=Path(file["path"]) if file else None,
                is_part=bool(file and file["part_of"]),
            )
        )
    return found
