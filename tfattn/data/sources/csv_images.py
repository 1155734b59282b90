"""Tables with a column of image files."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pydantic import PositiveInt

from tfattn import files
from tfattn.data.sources.image_files import Damaged, ImageReader, too_large
from tfattn.errors import ConfigError, DataError
from tfattn.features import IMAGE
from tfattn.formats.csv_files import Column, CsvFile
from tfattn.formats.images import MAX_BYTES, MAX_SIDE
from tfattn.formats.parts import Part
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import fingerprint


class CsvImages(Source):
    """A table with a column of paths of images, relative to the folder of the table.

    Args:
        path: the table: comma, tab (.tsv) or otherwise separated.
        fields: role: column, as of the source `csv`; the column of `image` has the path of the file.
        folder: base folder of the paths; by default the folder of the table.
        damaged: "refuse" raises an error at the first image that cannot be decoded; "leave_out" skips and counts such
            images.
        max_side: maximum height and width in pixels; larger images are refused by their header, before decoding.
        delimiter, encoding, quoting, header: as of the source `csv`.

    Raises:
        ConfigError: no column is given for `image`; or as the source `csv`.

    Example:
        source = CsvImages(path="photos.csv", fields={"image": "file", "label": "class"})
        for row in source.rows():
            print(row.where, row.fields["label"], len(row.fields["image"]))
    """

    def __init__(
        self,
        *,
        path: str,
        fields: dict[str, Column],
        folder: str | None = None,
        damaged: Damaged = "refuse",
        max_side: PositiveInt = MAX_SIDE,
        delimiter: str | None = None,
        encoding: str = "utf-8",
        quoting: bool = True,
        header: bool = True,
    ):
        if IMAGE not in fields:
            raise ConfigError("no column is given for `image`", key="fields", expected=f"`{IMAGE}: COLUMN`")
        self._table = CsvFile(
            path=path, fields=fields, delimiter=delimiter, encoding=encoding, quoting=quoting, header=header
        )
        self.path, self.fields, self.format = self._table.path, self._table.fields, self._table.format
        self.folder = Path(folder) if folder else Path(str(self.path)).parent
        self._reader = ImageReader(damaged=damaged, max_side=max_side)

    def parts(self) -> Iterator[Part]:
        return self._table.parts()

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        for row in self._table.rows(part):
            name = row.fields[IMAGE].strip()
            where = f"{row.where}: {self.folder / name}"
            image = self._reader.checked(self._read(name, row.where), where) if name else None
            yield dataclasses.replace(row, fields={**row.fields, IMAGE: image})

    def fingerprint(self) -> str:
        """Compute the SHA-256 of the table and of all images together; a missing one is found as they are read."""
        names = (row.fields[IMAGE].strip() for row in self._table.rows())
        paths = (self.folder / name for name in names if name)
        images = [fingerprint(path) if path.is_file() else "" for path in paths]
        return files.digest([self._table.fingerprint(), images])

    def _read(self, name: str, where: str) -> bytes | DataError:
        path = self.folder / name
        try:
            size = path.stat().st_size
            return path.read_bytes() if size <= MAX_BYTES else too_large(f"{where}: {path}", size)
        except OSError as error:
            return DataError(
                f"cannot read the image ({error.strerror})",
                where=where,
                expected=f"a file, counted from {self.folder}",
                received=repr(name),
                remedy="Correct the name, or set `folder`; `damaged: leave_out` goes on without such images.",
            )
