"""Near duplicates: texts that share most of their characters, and rows of a table that are equal in all but one column.

Texts are compared by the Jaccard similarity of their sets of shingles, which are sequences of 5 bytes. MinHash
signatures find candidates, so that time is linear in the number of texts: Broder 1997, "On the resemblance and
containment of documents"; bands of signatures: Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section
3.4. Everything is deterministic.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded

MIN_SIMILARITY = 0.6  # of texts of 8 words, of which one is replaced
SHINGLE = 5  # bytes
MAX_BYTES = 2000  # of a text that are compared
BANDS, BAND_SIZE = (
    24,
    4,
)  # a pair of similarity 0.6 is a candidate with probability 0.96, of 0.8 with 1, of 0.2 with 0.04
MAX_CANDIDATES = 1_000_000  # pairs that are compared exactly, the most similar
MARGIN = 0.15  # three standard deviations of the similarity of signatures
BLOCK_BYTES = 1 << 21
MAX_CHANCE = 0.01  # expected pairs of rows that are equal in all columns but one by chance, if columns are independent


class Pair(NamedTuple):
    """Two rows that are alike, in the order of the file, and their similarity: 1 is equal."""

    first: int
    second: int
    similarity: float


def similar_texts(texts: Sequence[str]) -> list[Pair]:
    """Find pairs of different texts whose similarity is at least MIN_SIMILARITY.

    Of many texts that are all alike, each is compared with the first and the previous text only.

    Args:
        texts: different texts.
    """
    data = [text.encode(errors="surrogatepass")[:MAX_BYTES] for text in texts]
    if len(data) < 2:
        return []
    signatures = _signatures(data)
    first, second = _candidates(signatures)
    estimated = np.empty(len(first), np.float32)
    for begin in range(0, len(first), BLOCK_BYTES >> 6):
        part = slice(begin, begin + (BLOCK_BYTES >> 6))
        estimated[part] = (signatures[first[part]] == signatures[second[part]]).mean(axis=1)
    likely = np.sort(np.argsort(-estimated, kind="stable")[:MAX_CANDIDATES])
    likely = likely[estimated[likely] >= MIN_SIMILARITY - MARGIN]
    pairs = (
        Pair(a, b, _similarity(data[a], data[b]))
        for a, b in zip(first[likely].tolist(), second[likely].tolist(), strict=True)
    )
    return [pair for pair in pairs if pair.similarity >= MIN_SIMILARITY]


def similar_rows(columns: Sequence[Sequence[str]]) -> list[Pair]:
    """Find pairs of different rows of a table that are equal in all columns but one.

    A column is not left out if such rows are expected by chance, as in a table with few different values.

    Args:
        columns: the values of N rows, by column.
    """
    if len(columns) < 3 or len(columns[0]) < 2:
        return []
    codes = [DictionaryEncoded.of(column).codes for column in columns]
    hashes = [_mixed(column.astype(np.uint64), salt) for salt, column in enumerate(codes)]
    whole = np.sum(hashes, axis=0, dtype=np.uint64)
    counts = [np.bincount(column) for column in codes]
    pairs = len(whole) * (len(whole) - 1)
    collisions = np.array([(rows * (rows - 1)).sum() / pairs for rows in counts])  # the fraction of equal pairs
    found: dict[tuple[int, int], None] = {}
    for number, column in enumerate(hashes):
        if pairs / 2 * np.delete(collisions, number).prod() > MAX_CHANCE:
            continue
        order, is_equal = _equal_neighbors(whole - column)
        for position in np.flatnonzero(is_equal):
            a, b = sorted((int(order[position]), int(order[position + 1])))
            if whole[a] != whole[b]:
                found[a, b] = None
    return [Pair(a, b, 1 - 1 / len(columns)) for a, b in sorted(found)]


def _similarity(first: bytes, second: bytes) -> float:
    """Compute the Jaccard similarity of the shingles of two texts."""
    a, b = (
        {text[start : start + SHINGLE] for start in range(max(1, len(text) - SHINGLE + 1))} for text in (first, second)
    )
    return len(a & b) / len(a | b)


def _signatures(data: Sequence[bytes]) -> np.ndarray:
    """Compute MinHash signatures: (N, BANDS * BAND_SIZE) uint32."""
    parts = []
    for block in _blocks(data):
        padded = [text.ljust(SHINGLE, b"\0") for text in block]
        joined = np.frombuffer(b"".join(padded) + bytes(SHINGLE), np.uint8).astype(np.uint64)
        lengths = np.array([len(text) for text in padded])
        starts = np.cumsum([0, *lengths[:-1]])
        shingles = sum(
            joined[offset : len(joined) - SHINGLE + offset] << np.uint64(8 * offset) for offset in range(SHINGLE)
        )
        # The last windows of a text reach into the next: they are replaced by the text's first shingle.
        is_inside = np.arange(len(shingles)) < np.repeat(starts + lengths - SHINGLE + 1, lengths)
        shingles = np.where(is_inside, shingles, np.repeat(shingles[starts], lengths))
        parts.append(
            np.stack(
                [
                    np.minimum.reduceat((_mixed(shingles, salt) >> np.uint64(32)).astype(np.uint32), starts)
                    for salt in range(BANDS * BAND_SIZE)
                ],
                axis=1,
            )
        )
    return np.concatenate(parts)


def _blocks(data: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    block, size = [], 0
    for text in data:
        block.append(text)
        size += len(text)
        if size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def _candidates(signatures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair each row with the previous and the first row of each of its buckets, without repeats."""
    found = []
    for band in range(BANDS):
        keys = np.zeros(len(signatures), np.uint64)
        for number in range(band * BAND_SIZE, (band + 1) * BAND_SIZE):
            keys = _mixed(keys ^ signatures[:, number], number)
        order, is_equal = _equal_neighbors(keys)
        starts = np.flatnonzero(~np.concatenate([[False], is_equal]))
        first = order[np.repeat(starts, np.diff([*starts, len(order)]))]
        later = np.flatnonzero(is_equal) + 1
        found += [(order[later - 1], order[later]), (first[later], order[later])]
    a, b = (np.concatenate(side).astype(np.uint64) for side in zip(*found, strict=True))
    pairs = np.unique((np.minimum(a, b) << np.uint64(32)) | np.maximum(a, b))
    return (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _equal_neighbors(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order (N,) of sorted keys, and whether each key equals the next (N - 1,)."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return order, ordered[1:] == ordered[:-1]


def _mixed(values: np.ndarray, salt: int) -> np.ndarray:
    """Hash 64-bit numbers by a multiplication, a shift and another multiplication, differently for each salt."""
    with np.errstate(over="ignore"):
        mixed = (values + np.uint64(1 + salt)) * np.uint64(
            0x9E3779B97F4A7C15 + 2 * 0x632BE59BD9B4E019 * salt & (2**64 - 1)
        )
        mixed ^= mixed >> np.uint64(29)
        return mixed * np.uint64(0xBF58476D1CE4E5B9)
