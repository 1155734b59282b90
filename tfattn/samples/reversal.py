"""Words and the same words backwards: the smallest task on which an encoder-decoder can show that it works.

Each source is 3 to 8 different ones of twelve words, its target the same words in the reverse order. Every row is
another one. To write the first word, a model has to look at the last: one that does not attend is at a loss.
"""

import random
from pathlib import Path

from tfattn import files

WORDS = ("red", "green", "blue", "black", "white", "grey", "pink", "brown", "gold", "lilac", "amber", "teal")
ROWS = 12000
SHORTEST, LONGEST = 3, 8


def write(path: str | Path, *, seed: int = 7) -> None:
    """Writes tab-separated rows with the columns `source` and `target`.

    Args:
        path: the file.
        seed: another one gives other rows.
    """
    chance = random.Random(seed)
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        words = chance.sample(WORDS, chance.randint(SHORTEST, LONGEST))
        rows[" ".join(words)] = " ".join(reversed(words))
    lines = ["source\ttarget", *(f"{source}\t{target}" for source, target in rows.items())]
    files.write_text(Path(path), "\n".join(lines) + "\n")
