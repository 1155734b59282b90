"""Words and the same words backwards: the smallest task on which an encoder-decoder can show that it works.

Each source is 3 to 8 different ones of twelve words, its target the same words in the reverse order. No row occurs
twice. To write the first word, a model has to attend to the last.
"""

import random
from pathlib import Path

from tfattn import files

WORDS = ("red", "green", "blue", "black", "white", "grey", "pink", "brown", "gold", "lilac", "amber", "teal")
ROWS = 12000
SHORTEST, LONGEST = 3, 8


def write(path: str | Path, *, seed: int = 7) -> None:
    """Write tab-separated rows with the columns `source` and `target`.

    Args:
        path: the file to write; an existing one is replaced when the new one is complete.
        seed: of the random numbers with which rows are drawn; equal seeds write equal bytes.
    """
    chance = random.Random(seed)
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        words = chance.sample(WORDS, chance.randint(SHORTEST, LONGEST))
        rows[" ".join(words)] = " ".join(reversed(words))
    lines = ["source\ttarget", *(f"{source}\t{target}" for source, target in rows.items())]
    files.write_text(Path(path), "\n".join(lines) + "\n")
