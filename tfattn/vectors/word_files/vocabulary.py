"""Lists of words with their counts: a word and a number on each line, as word2vec's -save-vocab writes them."""

from pathlib import Path

import numpy as np

from tfattn import files
from tfattn.errors import DataError


def read_vocabulary(path: str | Path, *, remedy: str = "") -> tuple[list[str], np.ndarray]:
    """Read words and counts, with a blank or a tab between.

    Args:
        path: the file.
        remedy: what to do where it is damaged.

    Returns:
        the words in their order, and (V,) int64.

    Raises:
        DataError: a line is something else; names it.
    """
    words, counts = [], []
    lines = files.read_bytes(path, remedy=remedy).decode("utf-8", "backslashreplace").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        word, _, count = line.rstrip("\r").replace("\t", " ").rpartition(" ")
        if not word or not (count.isascii() and count.isdigit()):
            where = f"{path}:{number}"
            raise DataError("no word with its count", where=where, received=repr(line[:60]), remedy=remedy)
        words.append(word)
        counts.append(int(count))
    if lines[-1]:
        raise DataError("the last line has no end: the file was cut off", where=f"{path}:{len(lines)}", remedy=remedy)
    return words, np.array(counts, "int64")
