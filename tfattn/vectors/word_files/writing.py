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
NUMBER = "%.9g"  # enough digits to read the same float32
_CONFIG = f"""\
embeddings {{
  tensor_name: "word_vectors"
  tensor_path: "{TENSORS}"
  metadata_path: "{METADATA}"
}}
"""


def check(output: str | Path) -> None:
    """Check that word vectors can be written to a file or folder.

    Raises:
        ConfigError: the suffix has no format, or the folder exists and is no projector folder.
    """
    path = Path(output)
    if path.suffix:
        files.by_suffix(path, _FORMATS)
    elif path.exists() and not (path / PROJECTOR).is_file():
        raise ConfigError(
            "the path exists and is no projector folder",
            where=str(path),
            expected=f"a new folder, or one with {PROJECTOR}, which is replaced",
        )


def write(output: str | Path, vectors: WordVectors) -> None:
    """Write word vectors; the file or folder appears when it is complete.

    `.txt` and `.vec` are word2vec text: a line with the numbers of words and dimensions, and a line per word. `.bin` is
    word2vec binary. Both separate by blanks, so blanks within words are written as _, as in phrases. A path without a
    suffix is a folder for TensorBoard's projector, with the counts of words if they are known.

    Args:
        output: see `check`.
        vectors: the word vectors.
    """
    path = Path(output)
    if not path.suffix:
        with files.atomic_folder(path) as folder:
            _write_projector(folder, vectors)
        return
    if changed := sum(1 for word in vectors.words if BLANK.search(word)):
        console.note(f"{path}: blanks in {changed:,} words are written as _")
    with files.atomic_file(path) as temporary, temporary.open("wb") as file:
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
            file.writelines(f"{word}\n" for word in words)  # a single column has no header
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
