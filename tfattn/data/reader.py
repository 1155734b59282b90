"""Batches of records in a reproducible order, from any position, for any number of replicas."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfattn.data.batching import Batching, Window, tokens_of
from tfattn.data.encoding import parse
from tfattn.data.raw_rows import read_rows
from tfattn.data.records import Records
from tfattn.data.transforms import Transform, seeds_of
from tfattn.features import WEIGHTS

RECORD_IDS = "record_ids"  # (B,) int32, the number of a record in its split; -1 where a row only fills the batch
READ_BYTES = 8 << 20
PARSED_AT_ONCE = 4  # batches


class Reader:
    """The batches of one split of a prepared folder.

    The order of an epoch is a function of the seed and the epoch alone. The records of a window of shards are loaded, a
    batch is gathered from them by number and parsed at once, all of it in TensorFlow's graph; the next window is loaded
    meanwhile. To start at batch k costs the loading of one window.

    Sequences are padded to the longest of the whole batch, and their masks are False there.

    Args:
        folder: what `prepare` or `write_encoded` wrote.
        split: "train", "validation" or "test".
        batching: how rows form batches.
        seed: not negative.
        shuffle: whether the order is random, another one in each epoch.
        transforms: what is done to each batch in turn: decoding, and for training rows what is random by (seed, epoch,
            record).

    Attributes:
        num_records: records of the split.
        source_rows: (records,), the row of the split that each record is an example of.
        longest: tokens of the longest sequence.
        inputs, targets: the names of a batch that models read, and those that they are taught.
        masks: the names of a batch that say which elements of its sequences are real.

    Raises:
        DataError: the split is missing, or a file is damaged.
        ConfigError: the longest row does not fit into `max_tokens`.

    Example:
        reader = Reader(folder, "train", batching=Batching(max_tokens=2048), seed=7, shuffle=True)
        for batch in reader.dataset(epoch=0):
            print(batch["token_ids"].shape, batch["record_ids"].numpy())
    """

    def __init__(
        self,
        folder: str | Path,
        split: str,
        *,
        batching: Batching,
        seed: int,
        shuffle: bool,
        transforms: Sequence[Transform] = (),
    ):
        self._folder, self._split = folder, split
        self._records = Records(folder, split)
        self._batching = batching
        self._seed = seed
        self._shuffle = shuffle
        self._transforms = tuple(transforms)
        self._lengths = np.concatenate(self._records.lengths)
        self.num_records = len(self._lengths)
        self.source_rows = np.concatenate(self._records.rows)
        self.longest = int(self._lengths.max())
        self.inputs, self.masks = self._records.inputs, self._records.masks
        added = (name for change in self._transforms for name in change.targets)
        self.targets = tuple(dict.fromkeys([*self._records.targets, *added]))
        self.plan = functools.lru_cache(maxsize=2)(self._plan)  # of an epoch: asked for by several methods
        self.plan(0)  # an impossible plan is said at once, not after hours

    def texts(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the target texts of rows, where targets are texts: (n,) by field.

        Args:
            rows: (n,), numbers of rows that measure.
        """
        fields = self._records.manifest.get("target_fields", ())
        raw = self._rows if fields else ()
        return {field: np.array([raw[number][field] for number in rows], object) for field in fields}

    @functools.cached_property
    def _rows(self) -> list[dict[str, str]]:
        return read_rows(self._folder, self._split)

    def num_batches(self, epoch: int) -> int:
        """Count the batches of `dataset(epoch)`, before they are divided among replicas."""
        return sum(len(window.batches) for window in self.plan(epoch))

    def waste(self, epoch: int) -> float:
        """Compute the fraction of padding among the tokens of an epoch's batches."""
        batches = [self._lengths[rows] for window in self.plan(epoch) for rows in window.batches]
        padded = sum(len(lengths) * int(tokens_of(lengths.max(axis=0, keepdims=True))[0]) for lengths in batches)
        return 1.0 - sum(int(tokens_of(lengths).sum()) for lengths in batches) / padded

    def dataset(
        self,
        epoch: int,
        *,
        start: int = 0,
        replicas: int = 1,
        accumulation: int = 1,
        updates: int = 1,
        local: range | None = None,
    ) -> tf.data.Dataset:
        """Return the batches of an epoch from batch `start` on, each divided into `replicas` equal parts.

        A batch is first divided into `updates` consecutive ones, and each of them is filled up to a multiple of
        `replicas` times `accumulation` with copies of the first row of the batch, whose weight is 0 and whose record id
        is -1. The real rows of batch k, and of each of its updates, are the same for any number of replicas.

        Args:
            epoch: from 0.
            start: batches to leave out at the beginning.
            replicas: parts of a batch, over all workers.
            accumulation: of each update a part has a multiple of so many rows.
            updates: parts of a batch of which each replica has rows, one after the other, equally many of each.
            local: the parts that this process wants; all by default.

        Returns:
            An element for each batch and local part, in that order: the stored features as `records.parse` gives them,
            (n, T) and (n,), with `weights` (n,) float32 and `record_ids` (n,) int32, and what the transforms make of
            all that; of several updates (updates, n, ...). T is the longest of the whole batch, for all its parts.
        """
        order = _Order(self.plan(epoch), self._records.lengths, start)
        changes = [change.in_epoch(seed=self._seed, epoch=epoch) for change in self._transforms]
        with_partners = any(change.reads_partners for change in changes)
        with tf.device("CPU:0"):  # where input pipelines run, whatever device is current
            parts = tf.constant(list(range(replicas) if local is None else local), tf.int64)
            paths = tf.constant([str(path) for path in self._records.paths])
            lengths, rows, positions = tf.constant(self._lengths), tf.constant(order.rows), tf.constant(order.positions)
            begins, widths, shards = tf.constant(order.begins), tf.constant(order.widths), tf.constant(order.shards)
        # tf.data would translate Python's own control flow, of which there is none, and that takes a second.
        as_it_stands = tf.autograph.experimental.do_not_convert

        @as_it_stands
        def load(window):
            stored = tf.data.TFRecordDataset(tf.gather(paths, shards[window[0] : window[1]]), buffer_size=READ_BYTES)
            return window[2], window[3], stored.batch(window[4]).get_single_element()

        @as_it_stands
        def gather(first, last, stored):
            # `stored` must not leave this function: tf.data measures the strings of every element.
            @as_it_stands
            def batch(number):
                begin, count = begins[number], begins[number + 1] - begins[number]
                slots, real = _filled(count, parts, replicas, accumulation, updates)
                if with_partners:  # the last row of the batch is that of the first
                    slots, real = tf.concat([slots, count - 1 - slots], axis=0), tf.concat([real, real], axis=0)
                mine = tf.gather(rows, begin + slots)
                return tf.gather(stored, tf.gather(positions, mine)), mine, real, widths[number]

            return tf.data.Dataset.range(first, last).map(batch)

        @as_it_stands
        def parsed(serialized, mine, real, widths):
            batch = parse(serialized, self._records.features, tf.gather(lengths, mine), widths)
            batch[RECORD_IDS] = tf.where(real, mine, -1)
            batch[WEIGHTS] = tf.cast(real, tf.float32)
            for change in changes:
                batch = change(batch, seeds_of(mine, seed=self._seed, epoch=epoch))
            batch = {name: _divided(value, len(parts)) for name, value in batch.items()}
            return {name: _divided(value, updates, axis=1) for name, value in batch.items()} if updates > 1 else batch

        windows = tf.data.Dataset.from_tensor_slices(order.windows).map(load).prefetch(1)
        batches = windows.flat_map(gather).map(parsed, num_parallel_calls=PARSED_AT_ONCE, deterministic=True)
        options = tf.data.Options()
        # The thread that tunes sleeps for up to a minute at a time, and until it wakes no iterator can end.
        options.autotune.enabled = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        return batches.unbatch().prefetch(2 * len(parts)).with_options(options)

    def _plan(self, epoch: int) -> list[Window]:
        records = self._records
        return self._batching.plan(
            records.lengths, seed=self._seed, epoch=epoch, shuffle=self._shuffle, label_ids=records.label_ids
        )


class _Order:
    """A plan as flat arrays, which the graph can slice.

    Attributes:
        rows: record numbers, batch after batch.
        begins: where each batch begins in `rows`, and where the last ends.
        widths: (batches, k) or (batches, k, a), the longest of each of the k sequences in each batch.
        shards: shard numbers, window after window.
        places: for each record number, its index in the window that is loaded with it; that of a record without a
            window is arbitrary.
        windows: (windows, 5) first and last shard, first and last batch, records.
    """

    def __init__(self, plan: list[Window], lengths: list[np.ndarray], start: int):
        batches = [rows for window in plan for rows in window.batches]
        self.rows = np.concatenate(batches).astype(np.int32)
        self.begins = np.cumsum([0, *map(len, batches)])
        self.widths = np.maximum.reduceat(np.concatenate(lengths)[self.rows], self.begins[:-1], axis=0)
        self.shards = np.concatenate([window.shards for window in plan])
        starts = np.cumsum([0, *map(len, lengths)])
        self.positions = np.zeros(starts[-1], np.int32)
        windows, shard, batch = [], 0, 0
        for window in plan:
            held = np.concatenate([np.arange(starts[s], starts[s + 1]) for s in window.shards])
            self.positions[held] = np.arange(len(held))
            next_shard, next_batch = shard + len(window.shards), batch + len(window.batches)
            if next_batch > start:
                windows.append([shard, next_shard, max(batch, start), next_batch, len(held)])
            shard, batch = next_shard, next_batch
        self.windows = np.array(windows, np.int64).reshape(-1, 5)


def _filled(
    count: tf.Tensor, parts: tf.Tensor, replicas: int, accumulation: int, updates: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute which rows of a batch of `count` the parts hold, part after part, and whether each is real or fills."""
    size = -(-count // updates)  # of an update
    own = -(-size // (replicas * accumulation)) * accumulation
    positions = parts[:, None, None] * own + tf.range(own)  # (parts, 1, own), in their update
    slots = tf.range(tf.cast(updates, tf.int64))[:, None] * size + positions  # (parts, updates, own)
    slots = tf.reshape(tf.where(positions < size, slots, count), [-1])
    real = slots < count
    return tf.where(real, slots, 0), real


def _divided(value: tf.Tensor, parts: int, axis: int = 0) -> tf.Tensor:
    """Divide an axis: (parts * n, ...) -> (parts, n, ...)."""
    sizes = [tf.shape(value)[index] if size is None else size for index, size in enumerate(value.shape)]
    return tf.reshape(value, [*sizes[:axis], parts, -1, *sizes[axis + 1 :]])
