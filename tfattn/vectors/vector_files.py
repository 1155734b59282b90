"""Files of text vectors: JSON lines in the format of google-research/bert's extract_features.py, and NumPy arrays."""

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

DIGITS = 6  # after the decimal point, as in extract_features.py
ARRAY, LINES = ".npy", ".jsonl"


def check(output: str, pooling: str) -> None:
    """Check that vectors can be written to a file.

    Args:
        output: the path; `-` is standard output.
        pooling: "none" for the vectors of tokens.

    Raises:
        ConfigError: the suffix has no format, or its format cannot store the vectors.
    """
    if output != "-" and files.by_suffix(output, _FORMATS) is _write_array and pooling == "none":
        raise ConfigError(
            "the vectors of tokens fill no array: texts have different numbers of tokens",
            where=output,
            expected=f"{LINES}, or one vector per text",
            remedy="`--pooling mean` makes one vector per text.",
        )


@dataclass
class WriteSummary:
    """The numbers of written and of truncated texts."""

    texts: int = 0
    truncated: int = 0

    def count(self, vectors: Iterable[TextVectors]) -> Iterator[TextVectors]:
        """Yield vectors, and count them."""
        for text in vectors:
            self.texts += 1
            self.truncated += text.is_truncated
            yield text


def write(output: str, vectors: Iterable[TextVectors], layers: Sequence[int]) -> WriteSummary:
    """Write vectors as a stream; the file appears when it is complete.

    `.jsonl`, and `-` for standard output: an object per text, with numbers rounded to 6 digits. It has `linex_index`,
    the index of the text, and `values`; or for vectors of tokens `features`, with `token` and `layers` of each token,
    and `index` and `values` of each layer.

    `.npy`: an array (texts, width) float32.

    Args:
        output: see `check`.
        vectors: the vectors of the texts, in order.
        layers: the layers of token vectors.
    """
    summary = WriteSummary()
    if output == "-":
        sys.stdout.writelines(_lines(summary.count(vectors), layers))
        return summary
    with files.atomic_file(output) as path:
        files.by_suffix(output, _FORMATS)(path, summary.count(vectors), layers)
    return summary


def _lines(vectors: Iterable[TextVectors], layers: Sequence[int]) -> Iterator[str]:
    for number, text in enumerate(vectors):
        values = np.round(text.values.astype(np.float64), DIGITS).tolist()
        content = (
            {"values": values} if text.values.ndim == 1 else {"features": _token_features(text.tokens, values, layers)}
        )
        yield json.dumps({"linex_index": number, **content}, ensure_ascii=False) + "\n"


def _token_features(
    tokens: Sequence[str], values: Sequence[Sequence[list[float]]], layers: Sequence[int]
) -> list[dict]:
    return [
        {
            "token": token,
            "layers": [{"index": i, "values": of_layer} for i, of_layer in zip(layers, vectors, strict=True)],
        }
        for token, vectors in zip(tokens, values, strict=True)
    ]


def _write_lines(path: Path, vectors: Iterable[TextVectors], layers: Sequence[int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_lines(vectors, layers))


def _write_array(path: Path, vectors: Iterable[TextVectors], layers: Sequence[int]) -> None:
    with path.open("wb") as file:
        rows = width = 0
        for rows, text in enumerate(vectors, start=1):
            if rows == 1:
                (width,) = text.values.shape
                _write_header(file, rows, width)
            file.write(text.values.astype("<f4").tobytes())
        # NumPy reserves space in the header for any number of rows.
        file.seek(0)
        _write_header(file, rows, width)


def _write_header(file: BinaryIO, rows: int, width: int) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})


_FORMATS = {LINES: _write_lines, ARRAY: _write_array}
