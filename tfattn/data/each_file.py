"""Sources of one file or of many, each of which is read for itself."""

import glob
from collections.abc import Iterator, Sequence

from tfattn import files
from tfattn.data.parts import Part, Span
from tfattn.data.source import Row, Source
from tfattn.data.text_files import check_is_file, fingerprint
from tfattn.errors import DataError
from tfattn.files import AnyPath, CompressedPath


class EachFile(Source):
    """A source of files that are alike; the contract of all such sources.

    A subclass says how rows stand in one of them. A name may have wildcards, and files compressed by gzip or bzip2,
    whose names end in .gz or .bz2, are read as what they hold.

    Args:
        path: the file, or files: names, patterns such as data/*.txt, or addresses.
    """

    def __init__(self, path: str | Sequence[str]):
        self.patterns = [path] if isinstance(path, str) else list(path)
        self.path = files.path_of(self.patterns[0])

    def spans_of(self, path: AnyPath) -> Iterator[Span | None]:
        """Divide a file into parts; None for the whole of it, which is one part by default."""
        check_is_file(path)
        yield None

    def rows_of(self, path: AnyPath, span: Span | None) -> Iterator[Row]:
        """Read the rows of a file, or of a part of it.

        Raises:
            DataError: it cannot be read, or is empty.
        """
        raise NotImplementedError

    def files(self) -> list[AnyPath]:
        """List the files, each once, those of a pattern in the order of their names.

        Raises:
            DataError: a pattern matches nothing.
        """
        found: dict[str, None] = {}
        for pattern in self.patterns:
            names = _matching(pattern)
            if not names:
                raise DataError(
                    "no file matches",
                    where=pattern,
                    expected="a pattern of files that there are",
                    remedy="Check `path`.",
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
        for path in self.files():
            yield from self.rows_of(path, None)

    def fingerprint(self) -> str:
        """Compute the SHA-256 of all files together."""
        return files.digest([fingerprint(_as_it_stands(path)) for path in self.files()])


def _matching(pattern: str) -> list[str]:
    """List the files that a pattern names; one without wildcards is itself, whether there is such a file or not."""
    return sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]


def _as_it_stands(path: AnyPath) -> AnyPath:
    return path.file if isinstance(path, CompressedPath) else path
