"""Parallel text files: line n of the source file corresponds to line n of the target file."""

import contextlib
from collections.abc import Iterator
from itertools import islice, zip_longest

from tfattn import files
from tfattn.errors import DataError
from tfattn.features import SOURCE, TARGET
from tfattn.files import AnyPath
from tfattn.formats import parts
from tfattn.formats.limits import MAX_TEXT_LENGTH
from tfattn.formats.parts import Part, Span, is_divisible
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_encoding, check_is_file, fingerprint, lines
from tfattn.formats.training_file import FileFormat

SHOWN_CHARACTERS = 60


class ParallelFiles(Source):
    """Sentences and their translations in two plain text files, one sentence per line.

    A line ends with a line feed, optionally after a carriage return; other line separators, such as U+2028, are text.
    An empty line is an empty value. A line has at most 1,048,576 characters.

    Args:
        path: the source file, or its remote address: gs://bucket/train.en; names with .gz or .bz2 are decompressed.
        target_path: the target file, with the same number of lines.
        encoding: the encoding of both files; a byte-order mark is skipped.

    Raises:
        ConfigError: the encoding is unknown.

    Example:
        source = ParallelFiles(path="train.en", target_path="train.de")
        for row in source.rows():
            print(row.where, row.fields["source"], row.fields["target"])
    """

    def __init__(self, *, path: str, target_path: str, encoding: str = "utf-8"):
        check_encoding(encoding)
        self.path = files.unpacked(path)
        self.target_path = files.unpacked(target_path)
        self.encoding = encoding
        self.format = FileFormat("text", encoding)
        self.fields = {SOURCE: path, TARGET: target_path}

    def parts(self) -> Iterator[Part]:
        """Divide both files after the same lines; files of different lengths are one part, for which `rows` raises."""
        for path, key in ((self.path, "path"), (self.target_path, "target_path")):
            with _naming(key):
                check_is_file(path)
        can_be = all(is_divisible(path, self.encoding) for path in (self.path, self.target_path))
        yield from (can_be and self._pairs()) or [Part((None, None))]

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        """Read every pair of lines, in the order of the files.

        Raises:
            DataError: a file is missing, empty or not text, has changed, or one has more lines than the other.
        """
        span, target_span = part.spans if part else (None, None)
        sources = _sentences(self.path, self.encoding, span, "path")
        targets = _sentences(self.target_path, self.encoding, target_span, "target_path")
        for number, (source, target) in enumerate(zip_longest(sources, targets), start=span.line if span else 1):
            if source is None or target is None:
                paths, more, odd = (self.path, self.target_path), sources, source
                if source is None:
                    paths, more, odd = paths[::-1], targets, target
                raise _unequal(*paths, number, odd, count=number + sum(1 for _ in more))
            yield Row({SOURCE: source, TARGET: target}, f"{self.path}:{number}")

    def _pairs(self) -> list[Part] | None:
        """List pairs of spans with the same number of lines; None if one file has more lines."""
        found = []
        starts, line = (0, 0), 1
        with self.path.open("rb") as sources, self.target_path.open("rb") as targets:
            while source := sources.read(parts.PART_BYTES) + sources.readline():
                count = source.count(b"\n") + (not source.endswith(b"\n"))
                written = list(islice(targets, count))
                if len(written) < count:
                    return None
                both = source, b"".join(written)
                found.append(Part(tuple(Span.of(data, begin, line) for data, begin in zip(both, starts, strict=True))))
                starts, line = (sources.tell(), targets.tell()), line + count
            return None if targets.read(1) else found

    def fingerprint(self) -> str:
        """Compute the SHA-256 of both files together.

        Raises:
            DataError: one of them cannot be read.
        """
        source = fingerprint(self.path)
        with _naming("target_path"):
            return files.digest({SOURCE: source, TARGET: fingerprint(self.target_path)})


def _sentences(path: AnyPath, encoding: str, span: Span | None, key: str) -> Iterator[str]:
    with _naming(key):
        for line in lines(path, encoding, span=span, end="\n", longest=MAX_TEXT_LENGTH):
            text = line.removesuffix("\n").removesuffix("\r")
            if "\r" in text and not line.endswith("\n"):
                raise DataError(
                    "lines end in carriage returns",
                    where=str(path),
                    expected="a line feed after each line",
                    remedy="Replace them by line feeds, as `tr '\\r' '\\n'` does.",
                )
            yield text


@contextlib.contextmanager
def _naming(key: str) -> Iterator[None]:
    """Name the setting of a path in errors."""
    try:
        yield
    except DataError as error:
        error.remedy = error.remedy.replace("`path`", f"`{key}`")
        raise


def _unequal(longer: AnyPath, shorter: AnyPath, number: int, odd: str, *, count: int) -> DataError:
    shown = repr(odd if len(odd) <= SHOWN_CHARACTERS else f"{odd[:SHOWN_CHARACTERS]}...")
    return DataError(
        "this line has no counterpart",
        where=f"{longer}:{number}",
        expected=f"{number - 1} lines, as {shorter} has",
        received=f"{count}; line {number} is {shown}",
        remedy="Line n of the one file belongs to line n of the other: find the first pair that does not match.",
    )
