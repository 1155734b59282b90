"""Small images of each format, valid and damaged, and folders of them."""

import io
from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int = 0, *, height: int = 12, width: int = 16) -> Image.Image:
    """Smooth colours, other ones for each seed."""
    coarse = np.random.default_rng(seed).integers(0, 256, (3, 4, 3), np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "JPEG", **options) -> bytes:
    """The bytes of a file of it."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def as_array(data: bytes) -> np.ndarray:
    """The pixels of a file as another library decodes them: (Y, X, 3) int."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def write_folder(folder: Path, *, classes: tuple[str, ...] = ("cat", "dog"), each: int = 6, begin: int = 0) -> Path:
    """A folder of so many images for each class, no two of them the same."""
    for place, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            seed = begin + 1000 * place + number
            kind = "PNG" if number % 2 else "JPEG"
            (folder / name / f"{number}.{kind.lower()}").write_bytes(encoded(picture(seed), kind))
    return folder
