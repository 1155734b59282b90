"""The contract of sources that read each of their files separately."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tfattn import files
from tfattn.errors import ConfigError, DataError
from tfattn.files import AnyPath
from tfattn.formats.parts import Part, Span
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import check_is_file, fingerprint


class EachFile(Source):
    """A source of files of the same format; the contract of such sources.

    A subclass implements `rows_of`. Names may have wildcards. Files whose names end in .gz or .bz2 are
    decompressed.

    Args:
        path: a name, a pattern such as data/*.txt, a remote address, or a list of them.

    Raises:
        ConfigError: the list is empty.
    """

    def __init__(self, path: str | Sequence[str]):
        self.patterns = [path] if isinstance(path, str) else list(path)
        if not self.patterns:
            raise ConfigError("no file is named", key="path", expected="a file, or a list of them", received="[]")
        self.path = files.unpacked(self.patterns[0])

    def spans_of(self, path: AnyPath) -> Iterator[Span | None]:
        """Divide a file into spans; by default None, which is the whole file."""
        check_is_file(path)
        yield None

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        """Read the rows of a file, or of a span.

        Raises:
            DataError: the file cannot be read, or is empty.
        """
        raise NotImplementedError

    def files(self) -> list[AnyPath]:
        """List the distinct files; the files of a pattern are sorted by name.

        Raises:
            DataError: a pattern matches nothing.
        """
        found: dict[str, None] = {}
        for pattern in self.patterns:
            try:
                names = files.matching(pattern)
            except OSError as error:
                raise DataError(f"cannot list the files ({error.strerror})", where=pattern) from None
            if not names:
                raise DataError(
                    "no file matches",
                    where=pattern,
                    expected="a pattern of files that there are",
                    remedy=files.similar_path(pattern) or f"It counts from {Path.cwd()}.",
                )
            found |= dict.fromkeys(names)
        return [files.unpacked(name) for name in found]

    def parts(self) -> Iterator[Part]:
        for path in self.files():
            for span in self.spans_of(path):
                yield Part((span,), path=str(path))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        if part is not None:
            yield from self.rows_of(files.unpacked(part.path), part.spans[0])
            return
        row = None
        for path in self.files():
            for row in self.rows_of(path, None):
                yield row
        if row is None:
            raise DataError("the file holds no rows", where=", ".join(self.patterns), remedy="Check `path`.")

    def fingerprint(self) -> str:
        """Compute the SHA-256 of all files together."""
        return files.digest([fingerprint(path) for path in self.files()])
