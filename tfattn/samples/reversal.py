"""Word sequences and their reversal, a minimal task for encoder-decoders.

Each source has 3 to 8 distinct words of a vocabulary of twelve; its target has the words in reverse order. Rows are
unique. To generate the first word, a model must attend to the last.
"""

import random
from pathlib import Path

from tfattn import files

WORDS = ("red", "green", "blue", "black", "white", "grey", "pink", "brown", "gold", "lilac", "amber", "teal")
ROWS = 12000
MIN_WORDS, MAX_WORDS = 3, 8


def write(path: str | Path, *, seed: int = 7) -> None:
    """Write tab-separated rows with the columns `source` and `target`.

    Args:
        path: the file to write; an existing file is replaced when the new file is complete.
        seed: the random seed; equal seeds write equal bytes.
    """
    chance = random.Random(seed)
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        words = chance.sample(WORDS, chance.randint(MIN_WORDS, MAX_WORDS))
        rows[" ".join(words)] = " ".join(reversed(words))
    lines = ["source\ttarget", *(f"{source}\t{target}" for source, target in rows.items())]
    files.write_text(Path(path), "\n".join(lines) + "\n")
