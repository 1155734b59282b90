"""Writing of word vectors: files that word2vec, gensim and fastText read, and a folder for TensorBoard's projector."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tfattn import console, files
from tfattn.errors import ConfigError
from tfattn.vectors.word_vectors import WordVectors

PROJECTOR = "projector_config.pbtxt"
TENSORS, METADATA = "vectors.tsv", "metadata.tsv"
BLOCK = 4096  # rows
BLANK = re.compile(r"\s")
NUMBER = "%.9g"  # so many digits that the same float32 is read
_CONFIG = f"""\
embeddings {{
  tensor_name: "word_vectors"
  tensor_path: "{TENSORS}"
  metadata_path: "{METADATA}"
}}
"""


def check(output: str | Path) -> None:
    """Refuse a file or folder to which word vectors cannot be written.

    Raises:
        ConfigError: its suffix stands for no format; or a folder stands there that is something else.
    """
    path = Path(output)
    if path.suffix:
        files.by_suffix(path, _FORMATS)
    elif path.exists() and not (path / PROJECTOR).is_file():
        raise ConfigError(
            "something else stands there",
            where=str(path),
            expected=f"a new folder, or one with {PROJECTOR}, which is written anew",
        )


def write(output: str | Path, vectors: WordVectors) -> None:
    """Write word vectors; the file or folder appears when all of it is there.

    `.txt` and `.vec` are word2vec's text, a line with the numbers of words and dimensions and a line for each word.
    `.bin` is word2vec's binary. Both divide by blanks: a blank within a word is written as _, as between the words of a
    phrase. Without a suffix it is a folder for TensorBoard's projector, with the count of each word where it is known.

    Args:
        output: see `check`.
        vectors: what to write.
    """
    path = Path(output)
    if not path.suffix:
        with files.atomic_folder(path) as folder:
            _write_projector(folder, vectors)
        return
    if changed := sum(1 for word in vectors.words if BLANK.search(word)):
        console.note(f"{path}: blanks in {changed:,} words are written as _")
    with files.atomic_file(path) as place, place.open("wb") as file:
        file.write(f"{len(vectors)} {vectors.width}\n".encode())
        files.by_suffix(path, _FORMATS)(file, vectors)


def _write_text(file: BinaryIO, vectors: WordVectors) -> None:
    words = (BLANK.sub("_", word) for word in vectors.words)
    for row in _rows(vectors, " "):
        file.write(f"{next(words)} {row}\n".encode())


def _write_binary(file: BinaryIO, vectors: WordVectors) -> None:
    for word, row in zip(vectors.words, vectors.vectors, strict=True):
        file.write(BLANK.sub("_", word).encode() + b" " + row.astype("<f4", copy=False).tobytes())


def _write_projector(folder: Path, vectors: WordVectors) -> None:
    with (folder / TENSORS).open("w", encoding="ascii") as file:
        file.writelines(f"{row}\n" for row in _rows(vectors, "\t"))
    words = (BLANK.sub(" ", word) for word in vectors.words)
    with (folder / METADATA).open("w", encoding="utf-8") as file:
        if vectors.counts is None:
            file.writelines(f"{word}\n" for word in words)  # one column has no names
        else:
            file.write("word\tcount\n")
            file.writelines(f"{word}\t{count}\n" for word, count in zip(words, vectors.counts.tolist(), strict=True))
    (folder / PROJECTOR).write_text(_CONFIG)


def _rows(vectors: WordVectors, between: str) -> Iterator[str]:
    row = between.join([NUMBER] * vectors.width)
    for start in range(0, len(vectors), BLOCK):
        for numbers in vectors.vectors[start : start + BLOCK].tolist():
            yield row % tuple(numbers)


_FORMATS = {".txt": _write_text, ".vec": _write_text, ".bin": _write_binary}
