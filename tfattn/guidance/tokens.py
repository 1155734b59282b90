"""The tokens of a vocabulary as a tree of bytes, which is walked along an automaton for all tokens at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.guidance.automaton import DEAD, Automaton
from tfattn.guidance.code_points import EVERY, LAST, Ranges, common, united

# The bytes of characters with more than one of them.
CONTINUED = (*range(0x80, 0xC0), *range(0xC2, 0xF5))


@dataclass(frozen=True)
class Level:
    """The nodes at one depth of the tree.

    Attributes:
        parents: of each node, its place in the level above, (N,).
        values: of each node, the byte that leads to it, (N,).
        token_ids: the tokens that end at this depth, (M,).
        nodes: the node at which each of them ends, (M,).
    """

    parents: np.ndarray
    values: np.ndarray
    token_ids: np.ndarray
    nodes: np.ndarray


class Tokens:
    """A vocabulary.

    Args:
        token_bytes: what each token adds to a text, V of them; nothing for a token that is no text.

    Attributes:
        token_bytes: as given.
        alphabet: the characters that can be written one by one, as tokens or as the bytes that tokens are. Where not
            every byte is a token, those tokens are left out that hold half a character: nothing could complete it.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self.token_bytes = list(token_bytes)
        has_every_byte = {bytes([value]) for value in CONTINUED} <= set(self.token_bytes)
        texts = {
            token_id: text
            for token_id, text in enumerate(self.token_bytes)
            if text and (has_every_byte or _is_whole(text))
        }
        self.alphabet = _alphabet(texts.values(), has_every_byte)
        self._levels = _levels(texts)

    def allowed(self, automaton: Automaton, state: int) -> np.ndarray:
        """Compute which tokens may follow in a state; those that are no text never do.

        Args:
            automaton: what the text must be.
            state: its number.

        Returns:
            (V,) bool.
        """
        allowed = np.zeros(len(self.token_bytes), bool)
        states = np.array([state])
        for level in self._levels:
            states = automaton.next(states[level.parents], level.values)
            allowed[level.token_ids] = states[level.nodes] != DEAD
            if not states.any():
                break
        return allowed


def _levels(texts: Mapping[int, bytes]) -> list[Level]:
    order = sorted((text, token_id) for token_id, text in texts.items())
    values = np.frombuffer(b"".join(text for text, _ in order), np.uint8)
    lengths = np.array([len(text) for text, _ in order], np.int64)
    starts = np.cumsum(lengths) - lengths
    token_ids = np.array([token_id for _, token_id in order], np.int64)
    nodes = np.zeros(len(order), np.int64)  # of each token, the node that it has reached
    levels = []
    while len(token_ids):
        here = values[starts + len(levels)]
        # Tokens with the same beginning stand beside each other.
        is_new = np.ones(len(here), bool)
        is_new[1:] = (here[1:] != here[:-1]) | (nodes[1:] != nodes[:-1])
        parents, nodes = nodes[is_new], np.cumsum(is_new) - 1
        is_end = lengths == len(levels) + 1
        levels.append(Level(parents, here[is_new], token_ids[is_end], nodes[is_end]))
        starts, lengths, token_ids, nodes = (one[~is_end] for one in (starts, lengths, token_ids, nodes))
    return levels


def _alphabet(texts: Iterable[bytes], has_every_byte: bool) -> Ranges:
    ranges = {(ord(text.decode()),) * 2 for text in texts if _is_whole(text) and len(text.decode()) == 1}
    return common(EVERY, united([*ranges, *([(0x80, LAST)] if has_every_byte else [])]))


def _is_whole(text: bytes) -> bool:
    """Tell whether a text has no half of a character."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
