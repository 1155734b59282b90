"""Plans for folders or archives of images, with a folder per class."""

import os
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from tfattn.errors import DataError, listed
from tfattn.formats.images import SUFFIXES, header_of
from tfattn.recipes.plan import Plan

IMAGES_PER_SECOND = 500  # of 32 x 32 pixels, trained on two CPU cores
FIXED_SECONDS = 60
HEADERS = 200  # images whose size is read
HEAD_BYTES = 1 << 16
MAX_SMALL_SIDE = 48  # pixels
SPLIT_NAMES = ("train", "training")
VALIDATION_NAMES = ("val", "valid", "validation", "dev", "test")


def is_archive(path: str) -> bool:
    """Return whether a file name is that of an archive that the source `image_folder` reads."""
    return path.lower().endswith((".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2"))


def plan_images(name: str, path: str) -> Plan:
    """Plan an image classifier for a folder, or an archive, with a folder per class, perhaps inside of train/ and val/.

    Raises:
        DataError: there are no images, fewer than two classes, or folders of classes in several other folders.
    """
    images = list(_of_archive(path) if is_archive(path) else _of_folder(Path(path)))
    folders: dict[str, Counter[str]] = {}
    for image, _ in images:
        folders.setdefault(str(image.parent.parent), Counter())[image.parent.name] += 1
    inside = next((each for each in folders if PurePosixPath(each).name.lower() in SPLIT_NAMES), None)
    if inside is None and len(folders) == 1:
        [inside] = folders
    classes = folders.get(inside or "", Counter())
    if len(classes) < 2:
        raise DataError(
            "there are no folders of images by class",
            where=path,
            expected=f"a folder for each of at least two classes, such as {path}/cat/1.jpg and {path}/dog/2.jpg",
            received=f"images in {listed(sorted({str(image.parent) for image, _ in images}), 5)}" if images else "none",
        )
    source: dict[str, Any] = {"name": "image_folder", "path": path}
    data: dict[str, Any] = {"source": source, "split": {"validation": 0.2 if sum(classes.values()) < 5_000 else 0.1}}
    plan = Plan(
        f"Classify images: {listed(sorted(classes), limit=8)}.",
        f"{path}: {sum(classes.values()):,} images of {len(classes)} classes",
        {"name": name, "data": data},
    )
    if inside != ".":
        source["inside"] = inside
        if aside := next((each for each in folders if PurePosixPath(each).name.lower() in VALIDATION_NAMES), None):
            data["validation_source"] = source | {"inside": aside}
            data["split"] = {"validation": 0}
    size = _side([head for _, head in images[:HEADERS]])
    data["preprocessing"] = {"name": "images", "size": size}
    plan.reasons["data.preprocessing.size"] = (
        f"images are scaled to {size} x {size} pixels; larger is better and slower"
    )
    _add_model(plan, sum(classes.values()), size, classes)
    return plan


def _add_model(plan: Plan, num_images: int, size: int, classes: Counter[str]) -> None:
    data = plan.values["data"]
    data["batching"] = {"batch_size": 32 if num_images < 2_000 else 128}
    is_text = all(len(each) == 1 for each in classes)
    data["augmentation"] = {"shift": size // 8} | ({} if is_text else {"flip": "alternating"})
    plan.reasons["data.augmentation"] = "random shifts" + (
        "; no mirror images, because classes seem to be characters" if is_text else " and mirror images"
    )
    plan.values["model"] = {
        "name": "vit",
        "num_convolutions": 2 if size <= 32 else 3,
        "pooling": "attention",
        "hidden_dim": 128,
        "num_layers": 4,
        "num_heads": 4,
        "intermediate_dim": 256,
        "stochastic_depth": 0.1,
    }
    plan.reasons["model"] = "A Compact Convolutional Transformer from scratch, made for small and few images."
    plan.values["task"] = {"name": "classification", "label_smoothing": 0.1}
    plan.values["runtime"] = {"logical_devices": "cores"}
    plan.reasons["runtime"] = "The operations are small: one device per core is faster than one for all cores."
    seconds = num_images * (size / 32) ** 1.5 / IMAGES_PER_SECOND
    steps = num_images / data["batching"]["batch_size"]
    plan.add_training(num_rows=num_images, epoch_seconds=seconds, epoch_steps=steps, fixed_seconds=FIXED_SECONDS)
    if num_images < 50 * len(classes):
        plan.warnings.append(f"{num_images} images are few to train from scratch: expect a modest accuracy.")


def _of_folder(root: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield the relative path of each image, and the start of the file of the first ones."""
    count = 0
    for parent, folders, names in os.walk(root):
        folders.sort()
        for each in filter(_is_image, names):
            path = Path(parent, each)
            with path.open("rb") as file:
                head = file.read(HEAD_BYTES) if count < HEADERS else b""
            count += 1
            yield PurePosixPath(path.relative_to(root).as_posix()), head


def _of_archive(path: str) -> Iterator[tuple[PurePosixPath, bytes]]:
    try:
        if path.lower().endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                names = [each for each in archive.namelist() if _is_image(each)]
                for index, each in enumerate(names):
                    yield PurePosixPath(each), archive.open(each).read(HEAD_BYTES) if index < HEADERS else b""
            return
        with tarfile.open(path) as archive:
            for index, entry in enumerate(each for each in archive if each.isfile() and _is_image(each.name)):
                yield PurePosixPath(entry.name), archive.extractfile(entry).read(HEAD_BYTES) if index < HEADERS else b""
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DataError(f"the archive cannot be read ({error})", where=path) from None


def _is_image(name: str) -> bool:
    path = PurePosixPath(name)
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".")


def _side(heads: Sequence[bytes]) -> int:
    """Return the size to which images are scaled: 32 pixels for small images, otherwise 64."""
    headers = [header for header in map(header_of, heads) if header is not None]
    sides = sorted(min(header.height, header.width) for header in headers)
    return 32 if not sides or sides[len(sides) // 2] <= MAX_SMALL_SIDE else 64
