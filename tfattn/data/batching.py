"""Plans of batches: a function of the sequence lengths, the seed and the epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import PositiveInt

from tfattn.config.relations import InsteadOf, OnlyWith
from tfattn.data.balanced import balanced_batches
from tfattn.errors import ConfigError

# Rows are sorted by length times a random factor in [1, 1 + SPREAD], so that batches differ between epochs.
SPREAD = 0.1
WHICH_SIZE = "`max_tokens: 2048` suits texts of different lengths; `batch_size: 32` counts rows."


@dataclass(frozen=True)
class Window:
    """A part of an epoch whose records are in memory together.

    Attributes:
        shards: indices of shards, in the order of loading.
        batches: record indices of each batch, in the order of training.
    """

    shards: np.ndarray
    batches: list[np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Batching:
    """Batches of a fixed number of rows, or of a maximum number of tokens including padding.

    Shards are shuffled, and consecutive shards form a window. The rows of a window are shuffled, sorted approximately
    by length and cut into batches, which are shuffled again. Every row occurs exactly once per epoch. Batch k has the
    same rows for any number of replicas.

    Args:
        batch_size: rows per batch, over all replicas and micro-batches. Set either this or `max_tokens`.
        max_tokens: maximum number of tokens per batch, padding included (number of rows times the longest row, source
            plus target), over all replicas and micro-batches. Set either this or `batch_size`.
        bucket_by_length: whether rows of similar length share a batch, which reduces padding.
        window: records that are in memory and shuffled together; rounded up to whole shards, and for balanced batches
            to a row of every class.
        balanced: whether every class has the same number of rows in each training batch. Rows of rare classes then
            occur more than once per epoch.
        batches_per_epoch: number of balanced batches per epoch; by default enough to include every row.

    Example:
        batching = Batching(max_tokens=2048)
        plan = batching.plan([np.array([5, 9, 7])], seed=1, epoch=0, shuffle=True)
        batches = [rows for window in plan for rows in window.batches]
    """

    batch_size: PositiveInt | None = None
    max_tokens: Annotated[PositiveInt | None, InsteadOf("batch_size", remedy=WHICH_SIZE)] = None
    bucket_by_length: bool = True
    window: PositiveInt = 100_000
    balanced: Annotated[bool, OnlyWith("batch_size")] = False
    batches_per_epoch: Annotated[PositiveInt | None, OnlyWith("balanced")] = None

    def plan(
        self,
        lengths: Sequence[np.ndarray],
        *,
        seed: int,
        epoch: int,
        shuffle: bool,
        label_ids: Sequence[np.ndarray] | None = None,
    ) -> list[Window]:
        """Plan the batches of one epoch.

        Args:
            lengths: for each shard (n,), the tokens of each record, (n, k) for k sequences, or (n, k, a) for lists of
                sequences. Record indices continue across shards.
            seed: not negative.
            epoch: not negative.
            shuffle: whether the order is random; otherwise it is the order of the file, or from long to short with
                buckets, in every epoch.
            label_ids: for each shard, the class of each record, for balanced batches.

        Raises:
            ConfigError: a single row has more than `max_tokens`.
        """
        lengths = [np.reshape(shard, (*shard.shape, 1, 1)[:3]).astype(np.int64) for shard in lengths]
        longest = max((int(tokens_of(shard).max()) for shard in lengths if len(shard)), default=0)
        if self.max_tokens is not None and longest > self.max_tokens:
            raise ConfigError(
                "the longest row does not fit into a batch",
                key="max_tokens",
                expected=f"at least {longest}, the tokens of the longest row",
                received=str(self.max_tokens),
                remedy="Raise `max_tokens`, or lower `max_length` of the preprocessing.",
            )
        starts = np.cumsum([0, *(len(shard) for shard in lengths)])
        order = _generator(seed, epoch, 0).permutation(len(lengths)) if shuffle else np.arange(len(lengths))
        windows = []
        balances = self.balanced and shuffle
        groups = self._windows(order, lengths, label_ids if balances else None)
        sizes = [sum(len(lengths[shard]) for shard in shards) for shards in groups]
        counts = _apportion(self.batches_per_epoch, sizes) if balances and self.batches_per_epoch else None
        for number, shards in enumerate(groups):
            rows = np.concatenate([np.arange(starts[shard], starts[shard + 1]) for shard in shards])
            generator = _generator(seed, epoch, 1 + number) if shuffle else None
            if balances:
                batches = balanced_batches(
                    rows,
                    np.concatenate([label_ids[shard] for shard in shards]),
                    batch_size=self.batch_size,
                    batches=None if counts is None else counts[number],
                    generator=generator,
                )
            else:
                batches = self._batches(rows, np.concatenate([lengths[shard] for shard in shards]), generator)
            if batches:
                windows.append(Window(shards=np.array(shards), batches=batches))
        return windows

    def _windows(
        self, order: np.ndarray, lengths: Sequence[np.ndarray], label_ids: Sequence[np.ndarray] | None
    ) -> list[list[int]]:
        """Group consecutive shards until they have `window` records and a row of every class."""
        every_class = set() if label_ids is None else set(np.concatenate(label_ids).tolist())
        windows, shards, held, classes = [], [], 0, set()
        for shard in order:
            shards.append(int(shard))
            held += len(lengths[shard])
            if every_class:
                classes.update(label_ids[shard].tolist())
            if held >= self.window and classes == every_class:
                windows.append(shards)
                shards, held, classes = [], 0, set()
        if shards and windows and classes != every_class:
            windows[-1] += shards  # the remaining rows lack a class
        elif shards:
            windows.append(shards)
        return windows

    def _batches(self, rows: np.ndarray, tokens: np.ndarray, generator: np.random.Generator | None) -> list[np.ndarray]:
        order = np.arange(len(rows)) if generator is None else generator.permutation(len(rows))
        if self.bucket_by_length:
            factor = 1.0 if generator is None else 1.0 + SPREAD * generator.random((len(rows), 1, 1))
            order = order[_descending(tokens[order] * factor)]
        batches = list(self._cut(rows[order], tokens[order]))
        if generator is not None:
            batches = [batches[index] for index in generator.permutation(len(batches))]
        return batches

    def _cut(self, rows: np.ndarray, tokens: np.ndarray) -> Iterator[np.ndarray]:
        begin = 0
        while begin < len(rows):
            end = begin + (self.batch_size or self._num_fitting(tokens[begin : begin + self.max_tokens]))
            yield rows[begin:end]
            begin = end

    def _num_fitting(self, tokens: np.ndarray) -> int:
        """Count the next rows that fit into `max_tokens`; the padded size grows monotonically."""
        padded = tokens_of(np.maximum.accumulate(tokens)) * np.arange(1, len(tokens) + 1)
        return int(np.searchsorted(padded, self.max_tokens, side="right"))


def tokens_of(lengths: np.ndarray) -> np.ndarray:
    """Count the tokens of n records, (n,), from lengths (n, k) or (n, k, a); lists of sequences are padded."""
    return lengths.reshape(*lengths.shape[:2], -1).prod(axis=2).sum(axis=1)


def _apportion(total: int, sizes: Sequence[int]) -> list[int]:
    """Apportion a number of batches to windows by size, by largest remainder.

    Example:
        >>> _apportion(10, [30, 30, 15])
        [4, 4, 2]
    """
    exact = [divmod(total * size, sum(sizes)) for size in sizes]
    counts = [whole for whole, _ in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda number: -exact[number][1])
    for number in by_remainder[: total - sum(counts)]:
        counts[number] += 1
    return counts


def _descending(tokens: np.ndarray) -> np.ndarray:
    """Sort rows (n, k, a) from long to short by the last sequence, then by the sequence before it.

    Lists of sequences are sorted by their number first, then by the longest sequence.
    """
    *others, last = -tokens[:, :, ::-1].reshape(len(tokens), -1).T
    return np.lexsort([*others, np.round(last) if others else last])


def _generator(seed: int, epoch: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch, stream])))
