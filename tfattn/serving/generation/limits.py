"""How many texts a model writes at a time, how many it may, and how much it keeps for others."""

from typing import NamedTuple


class TextLimits(NamedTuple):
    """The limits of texts that are written step by step.

    Attributes:
        most_rows: how many texts are written at a time.
        most_waiting: how many more may wait.
        prefix_bytes: how many bytes of keys and values of ended texts are kept, for prompts that begin alike.
        has_drafts: whether tokens are guessed from what stands before them, and guesses checked several in a step.
    """

    most_rows: int = 8
    most_waiting: int = 100
    prefix_bytes: int = 2**28
    has_drafts: bool = True


class Occupancy(NamedTuple):
    """How many texts are written now, and how many wait."""

    writing: int
    waiting: int


USUAL = TextLimits()
