"""Files of vectors: JSON lines as google-research/bert's extract_features.py writes them, and NumPy's arrays."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tfattn import files
from tfattn.errors import ConfigError
from tfattn.vectors.text_encoder import TextVectors

DIGITS = 6  # behind the point, as extract_features.py rounds
ARRAY, LINES = ".npy", ".jsonl"


def check(output: str, pooling: str) -> None:
    """Refuse a file to which vectors cannot be written.

    Args:
        output: its path; `-` is standard output.
        pooling: "none" for the vectors of tokens.

    Raises:
        ConfigError: its suffix stands for no format, or for one that cannot hold them.
    """
    if output != "-" and files.by_suffix(output, _FORMATS) is _write_array and pooling == "none":
        raise ConfigError(
            "the vectors of tokens fill no array: texts have different numbers of them",
            where=output,
            expected=f"{LINES}, or one vector of each text",
            remedy="`--pooling mean` makes one of each.",
        )


@dataclass
class Written:
    """How many texts there were, and of how many the end was not read."""

    texts: int = 0
    truncated: int = 0

    def counting(self, vectors: Iterable[TextVectors]) -> Iterator[TextVectors]:
        """Yield the same vectors, and count them."""
        for one in vectors:
            self.texts += 1
            self.truncated += one.is_truncated
            yield one


def write(output: str, vectors: Iterable[TextVectors], layers: Sequence[int]) -> Written:
    """Write vectors as they come; the file appears when all of them are there.

    `.jsonl`, and `-`, standard output: an object for each text, numbers rounded to 6 digits. It has `linex_index`, the
    number of the text from 0, and `values`; or where there are vectors of tokens `features`, for each token `token` and
    `layers`, for each layer `index` and `values`.

    `.npy`: an array (texts, width) float32.

    Args:
        output: see `check`.
        vectors: of the texts, in order.
        layers: those that tokens have vectors of.
    """
    written = Written()
    if output == "-":
        sys.stdout.writelines(_lines(written.counting(vectors), layers))
        return written
    with files.atomic_file(output) as path:
        files.by_suffix(output, _FORMATS)(path, written.counting(vectors), layers)
    return written


def _lines(vectors: Iterable[TextVectors], layers: Sequence[int]) -> Iterator[str]:
    for number, one in enumerate(vectors):
        values = np.round(one.values.astype(np.float64), DIGITS).tolist()
        content = {"values": values} if one.values.ndim == 1 else {"features": _of_tokens(one.tokens, values, layers)}
        yield json.dumps({"linex_index": number, **content}, ensure_ascii=False) + "\n"


def _of_tokens(tokens: Sequence[str], values: Sequence[Sequence[list[float]]], layers: Sequence[int]) -> list[dict]:
    return [
        {"token": token, "layers": [{"index": i, "values": of_layer} for i, of_layer in zip(layers, of, strict=True)]}
        for token, of in zip(tokens, values, strict=True)
    ]


def _write_lines(path: Path, vectors: Iterable[TextVectors], layers: Sequence[int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_lines(vectors, layers))


def _write_array(path: Path, vectors: Iterable[TextVectors], layers: Sequence[int]) -> None:
    with path.open("wb") as file:
        rows = width = 0
        for rows, one in enumerate(vectors, start=1):
            if rows == 1:
                (width,) = one.values.shape
                _write_header(file, rows, width)
            file.write(one.values.astype("<f4").tobytes())
        # NumPy leaves room in a header for any number of rows.
        file.seek(0)
        _write_header(file, rows, width)


def _write_header(file: BinaryIO, rows: int, width: int) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})


_FORMATS = {LINES: _write_lines, ARRAY: _write_array}
