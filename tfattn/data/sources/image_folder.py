"""Folders of images with a folder per class, on a disk or in an archive."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pydantic import PositiveInt

from tfattn import files
from tfattn.data.sources.image_archive import entries, is_archive
from tfattn.data.sources.image_files import Damaged, ImageReader, too_large
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.features import FOLDER, IMAGE, LABEL
from tfattn.formats import parts
from tfattn.formats.images import MAX_BYTES, MAX_SIDE, SUFFIXES
from tfattn.formats.parts import Part, Span
from tfattn.formats.source import Row, Source
from tfattn.formats.text_files import fingerprint


class ImageFolder(Source):
    """Images whose class is the name of their folder; a row has the roles `image`, `label` and `folder`.

    The folder may be an archive (.zip, .tar, .tar.gz, .tar.bz2), which is read without unpacking. Hidden files, and
    files without the suffix of an image, are skipped.

    Args:
        path: the parent folder of the class folders, an archive of it, or a list of them.
        inside: subfolder with the class folders, such as train, or a list of subfolders. The role `folder` has its
            name, so `split.hold_out: {folder: [test]}` makes a subfolder the test split.
        damaged: "refuse" raises an error at the first image that cannot be decoded; "leave_out" skips and counts such
            images.
        max_side: maximum height and width in pixels; larger images are refused by their header, before decoding.

    Raises:
        ConfigError: no folder is named.

    Example:
        source = ImageFolder(path="cifar10.tar.gz", inside="train")
        for row in source.rows():
            print(row.where, row.fields["label"], len(row.fields["image"]))
    """

    rows_are_files = True

    def __init__(
        self,
        *,
        path: str | list[str],
        inside: str | list[str] | None = None,
        damaged: Damaged = "refuse",
        max_side: PositiveInt = MAX_SIDE,
    ):
        roots = [path] if isinstance(path, str) else path
        if not roots:
            raise ConfigError("no folder is named", key="path", expected="a folder, or a list of them", received="[]")
        self.roots = [Path(root) if not is_archive(root) else files.unpacked(root) for root in roots]
        self.path = self.roots[0]
        self.inside = None if inside is None else tuple([inside] if isinstance(inside, str) else inside)
        self.fields = {role: role for role in (IMAGE, LABEL, FOLDER)}
        self._reader = ImageReader(damaged=damaged, max_side=max_side)

    def parts(self) -> Iterator[Part]:
        """Divide each folder of a class into parts; an archive is one.

        Raises:
            DataError: the folder does not exist, has fewer than two classes, or has a class without an image.
        """
        for root in self.roots:
            if isinstance(root, Path) and not is_archive(str(root)):
                for folder in self._classes(root):
                    for span in _spans(folder):
                        yield Part((span,), path=str(folder))
            else:
                yield Part(path=str(root))

    def rows(self, part: Part | None = None) -> Iterator[Row]:
        for each in [part] if part else self.parts():
            if each.spans[0] is None:
                yield from self._of_archive(each.path)
            else:
                yield from self._of_folder(Path(each.path), each.spans[0])

    def fingerprint(self) -> str:
        """Compute the SHA-256 of all images and their folders together."""
        return files.digest([self._fingerprint(root) for root in self.roots])

    def _fingerprint(self, root: files.AnyPath) -> str | list[list[str]]:
        if not isinstance(root, Path) or is_archive(str(root)):
            return fingerprint(root)
        paths = (path for folder in self._classes(root) for path in _images(folder))
        return [[path.relative_to(root).as_posix(), fingerprint(path)] for path in paths]

    def _of_folder(self, folder: Path, span: Span) -> Iterator[Row]:
        root = next(root for root in self.roots if folder.is_relative_to(str(root)))
        read = next((other for other in _spans(folder) if other.begin == span.begin), None)
        if read != span:
            raise DataError(
                "the folder changes while it is read",
                where=str(folder),
                remedy="Run the same command again when nothing writes to it any more.",
            )
        first = span.line - 1
        size = 0
        for path in _images(folder)[first:]:
            if size >= span.end - span.begin:
                return
            size += path.stat().st_size
            yield self._row(_read(path), str(path), path.relative_to(root))

    def _of_archive(self, path: str) -> Iterator[Row]:
        folders: dict[tuple[str, ...], set[str]] = {}
        for name, data in entries(files.unpacked(path)):
            inner = PurePosixPath(name)
            if not _is_image(inner):
                continue
            if self.inside is not None and str(inner.parent.parent) not in self.inside:
                folders.setdefault((), set()).add(str(inner.parent.parent))
                continue
            row = self._row(data, f"{path}/{name}", inner)
            folders.setdefault(inner.parent.parent.parts, set()).add(inner.parent.name)
            _check_depth([found for found in folders if found], path, self.inside)
            yield row
        passed_over = folders.pop((), set()) if self.inside else set()
        _check_classes(set().union(*folders.values()), path, self.inside, passed_over)

    def _classes(self, root: Path) -> list[Path]:
        """List the class folders, sorted by name."""
        if not root.is_dir():
            raise DataError(
                "there is no such folder",
                where=str(root),
                expected="a folder of folders of images, or an archive of them (.zip, .tar, .tar.gz, .tar.bz2)",
                received="a file" if root.exists() else "nothing",
                remedy=f"It counts from {Path.cwd()}." * (not root.is_absolute()),
            )
        found, empty = [], []
        for current, inner, names in os.walk(root):
            inner[:] = sorted(name for name in inner if not _is_hidden(name))
            folder = Path(current)
            has_images = any(_is_image(Path(name)) for name in names)
            if folder == root:
                if has_images:
                    raise _outside(str(_images(folder)[0]))
            elif self.inside is None or folder.parent.relative_to(root).as_posix() in self.inside:
                if has_images:
                    found.append(folder)
                elif not inner:
                    empty.append(folder)
        above = {folder.parent.relative_to(root).parts for folder in found}
        _check_depth(list(above), str(root), self.inside)
        if empty and found:
            raise DataError(
                "folders of classes without an image",
                where=str(root),
                expected=f"files such as {listed(sorted(SUFFIXES), limit=4)}",
                received=listed(folder.name for folder in empty),
                remedy="Remove them, or see what became of their images.",
            )
        others = {path.name for path in root.iterdir() if path.is_dir()} if self.inside else set()
        _check_classes({folder.name for folder in found}, str(root), self.inside, others)
        return found

    def _row(self, data: bytes | DataError, where: str, inner: PurePosixPath) -> Row:
        if len(inner.parts) < 2:
            raise _outside(where)
        above = inner.parent.parent
        folder = "" if not above.parts else above.as_posix()
        return Row({IMAGE: self._reader.checked(data, where), LABEL: inner.parent.name, FOLDER: folder}, where)


def _read(path: Path) -> bytes | DataError:
    try:
        size = path.stat().st_size
        return path.read_bytes() if size <= MAX_BYTES else too_large(str(path), size)
    except OSError as error:
        return DataError(f"cannot read the image ({error.strerror})", where=str(path))


def _images(folder: Path) -> list[Path]:
    """List the images of a folder, sorted by name."""
    with os.scandir(folder) as found:
        names = sorted(entry.name for entry in found if not entry.is_dir() and _is_image(Path(entry.name)))
    return [folder / name for name in names]


def _spans(folder: Path) -> Iterator[Span]:
    """Divide the images of a folder into spans: offsets in total bytes, and the number of the first image, from 1."""
    begin = end = 0
    names, first = [], 1
    for number, path in enumerate(_images(folder), start=1):
        size = path.stat().st_size
        names.append([path.name, size])
        end += size
        if end - begin >= parts.PART_BYTES:
            yield _span(begin, end, first, names)
            begin, first, names = end, number + 1, []
    if names:
        yield _span(begin, end, first, names)


def _span(begin: int, end: int, first: int, names: Sequence[list[str | int]]) -> Span:
    return Span(begin, end, first, hashlib.sha256(json.dumps(names).encode()).hexdigest())


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "__"))


def _is_image(path: PurePosixPath) -> bool:
    return path.suffix.lower() in SUFFIXES and not any(_is_hidden(part) for part in path.parts)


def _outside(where: str) -> DataError:
    return DataError(
        "the image is in no folder of a class",
        where=where,
        expected="a path such as root/cat/1.jpg, with the class cat",
        remedy="Sort the images into folders, or list them in a csv, which the source csv_images reads.",
    )


def _check_depth(above: Sequence[tuple[str, ...]], where: str, inside: tuple[str, ...] | None) -> None:
    if inside is None and len(above) > 1:
        names = sorted("/".join(names) or "." for names in above)
        raise DataError(
            "folders of classes are at several locations",
            where=where,
            expected="in one folder, or in the folders of `inside`",
            received=listed(names, limit=5),
            remedy=f"Set `inside: {names[-1]}`, and name another one in `validation_source`; or list several and hold "
            "out one by `split.hold_out: {folder: [...]}`.",
        )


def _check_classes(found: set[str], where: str, inside: tuple[str, ...] | None, others: set[str]) -> None:
    if len(found) >= 2:
        return
    wanted = f" in {' or '.join(inside)}" if inside else ""
    if not found:
        what, received = f"there is no image{wanted}", listed(sorted(others)) or "none"
    else:
        what, received = f"there is only one folder of a class{wanted}", listed(found)
    raise DataError(
        what,
        where=where,
        expected="a folder of images for each of at least two classes",
        received=received,
        remedy=nearest(inside[0], others) if inside and not found else "Name in `path` the folder above them.",
    )
