"""Batches of records in a reproducible order, from any position, for any number of replicas."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfattn.data.batching import Batching, Window, tokens_of
from tfattn.data.examples.parsing import parse
from tfattn.data.examples.transforms import Transform, epoch_key, seeds_of
from tfattn.data.records import Records
from tfattn.data.sources.raw_rows import read_rows
from tfattn.features import WEIGHTS

RECORD_IDS = "record_ids"  # (B,) int32, index of a record in its split; -1 for rows that pad the batch
READ_BYTES = 8 << 20
NUM_PARALLEL_PARSES = 4  # batches


class Reader:
    """The batches of one split of a prepared folder.

    The order of an epoch is a function of the seed and the epoch. The records of a window of shards are loaded, and
    batches are gathered from them and parsed in TensorFlow's graph, while the next window is loaded. A start at batch k
    loads one window.

    Sequences are padded to the longest sequence of the whole batch; masks are False at padding.

    Args:
        folder: a folder of `prepare` or `write_encoded`.
        split: "train", "validation" or "test".
        batching: batch size and order.
        seed: not negative.
        shuffle: whether the order is random and changes in each epoch.
        transforms: transforms of each batch, in order: decoding, and for training rows random changes by (seed, epoch,
            record).
        columns: further targets by name, (records, ...) each.

    Attributes:
        num_records: number of records of the split.
        source_rows: (records,), index of the source row of each record in the split.
        longest: tokens of the longest sequence.
        inputs, targets: names of the inputs and of the targets of a batch.
        masks: names of the masks of a batch.

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
        columns: Mapping[str, np.ndarray] | None = None,
    ):
        self._folder, self._split = folder, split
        self._records = Records(folder, split)
        self._batching = batching
        self._seed = seed
        self._shuffle = shuffle
        self._transforms = tuple(transforms)
        self._columns = dict(columns or {})
        self._lengths = np.concatenate(self._records.lengths)
        self.num_records = len(self._lengths)
        self.source_rows = np.concatenate(self._records.rows)
        self.longest = int(self._lengths.max())
        self.inputs, self.masks = self._records.inputs, self._records.masks
        added = (name for change in self._transforms for name in change.targets)
        self.targets = tuple(dict.fromkeys([*self._records.targets, *added, *self._columns]))
        self.plan = functools.lru_cache(maxsize=2)(self._plan)  # several methods use the plan of an epoch
        self._pipeline = functools.cache(self._make_pipeline)
        self.plan(0)  # fail early if the plan is impossible

    def texts(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the target texts of rows, if targets are texts: (n,) by field.

        Args:
            rows: (n,), indices of evaluation rows.
        """
        fields = self._records.manifest.get("target_fields", ())
        raw = self._rows if fields else ()
        return {field: np.array([raw[number][field] for number in rows], object) for field in fields}

    @functools.cached_property
    def _rows(self) -> list[dict[str, str]]:
        return read_rows(self._folder, self._split)

    def num_batches(self, epoch: int) -> int:
        """Return the number of batches of `dataset(epoch)`, before they are divided among replicas."""
        return sum(len(window.batches) for window in self.plan(epoch))

    @property
    def max_rows(self) -> int:
        """The maximum number of rows of a batch, in any epoch."""
        batching = self._batching
        return batching.batch_size or max(1, batching.max_tokens // max(1, int(tokens_of(self._lengths).min())))

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

        A batch is first divided into `updates` consecutive updates. Each update is padded to a multiple of `replicas`
        times `accumulation` with copies of the first row of the batch, of weight 0 and record id -1. The real rows of
        batch k, and of each of its updates, are the same for any number of replicas.

        Args:
            epoch: from 0.
            start: number of batches to skip.
            replicas: parts of a batch, over all workers.
            accumulation: the rows of a part in an update are a multiple of this number.
            updates: consecutive updates per batch, of equally many rows of each replica.
            local: the parts of this process; by default all.

        Returns:
            an element per batch and local part, in this order: the features of `parsing.parse`, (n, T) and (n,), with
            `weights` (n,) float32 and `record_ids` (n,) int32, after all transforms. With several updates (updates, n,
            ...). T is the longest sequence of the whole batch, for all parts.
        """
        order = _Order(self.plan(epoch), self._records.lengths, start)
        with tf.device("CPU:0"):  # where input pipelines run, for any current device
            batches = self._pipeline(replicas, accumulation, updates, local or range(replicas))(
                *(self._lengths, order.rows, order.positions, order.starts, order.widths, order.shards, order.windows),
                *(epoch, epoch_key(seed=self._seed, epoch=epoch)),
            )
        options = tf.data.Options()
        # The autotuning thread sleeps for up to a minute at a time and delays the end of iterators.
        options.autotune.enabled = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        return batches.with_options(options)

    def _make_pipeline(
        self, replicas: int, accumulation: int, updates: int, local: range
    ) -> Callable[..., tf.data.Dataset]:
        """Return a function of the order, number and key of an epoch that returns its batches; see `dataset`.

        It is traced once: tracing takes longer than reading a few thousand rows.
        """
        parts = tf.constant(list(local), tf.int64)
        paths = tf.constant([str(path) for path in self._records.paths])
        columns = {name: tf.constant(column) for name, column in self._columns.items()}
        # Autograph takes a second, and there is no Python control flow to convert.
        without_autograph = tf.autograph.experimental.do_not_convert

        def pipeline(lengths, rows, positions, starts, widths, shards, windows, epoch, key):
            changes = [change.in_epoch(seed=self._seed, epoch=epoch) for change in self._transforms]
            with_partners = any(change.reads_partners for change in changes)

            @without_autograph
            def load(window):
                names = tf.gather(paths, shards[window[0] : window[1]])
                stored = tf.data.TFRecordDataset(names, buffer_size=READ_BYTES)
                return window[2], window[3], stored.batch(window[4]).get_single_element()

            @without_autograph
            def gather(first, last, stored):
                # `stored` must not leave this function: tf.data measures the strings of every element.
                @without_autograph
                def batch(number):
                    begin, count = starts[number], starts[number + 1] - starts[number]
                    slots, real = _filled(count, parts, replicas, accumulation, updates)
                    if with_partners:  # the partner of the first row is the last row of the batch
                        slots, real = tf.concat([slots, count - 1 - slots], axis=0), tf.concat([real, real], axis=0)
                    mine = tf.gather(rows, begin + slots)
                    return tf.gather(stored, tf.gather(positions, mine)), mine, real, widths[number]

                return tf.data.Dataset.range(first, last).map(batch)

            @without_autograph
            def parsed(serialized, mine, real, widths):
                batch = parse(serialized, self._records.features, tf.gather(lengths, mine), widths)
                batch[RECORD_IDS] = tf.where(real, mine, -1)
                batch[WEIGHTS] = tf.cast(real, tf.float32)
                batch |= {name: tf.gather(column, mine) for name, column in columns.items()}
                for change in changes:
                    batch = change(batch, seeds_of(mine, key))
                batch = {name: _divided(value, len(local)) for name, value in batch.items()}
                if updates == 1:
                    return batch
                return {name: _divided(value, updates, axis=1) for name, value in batch.items()}

            loaded = tf.data.Dataset.from_tensor_slices(windows).map(load).prefetch(1)
            batches = loaded.flat_map(gather).map(parsed, num_parallel_calls=NUM_PARALLEL_PARSES, deterministic=True)
            return batches.unbatch().prefetch(2 * len(local))

        of_batches = (None, *self._lengths.shape[1:])
        signature = [
            tf.TensorSpec(self._lengths.shape, tf.int32),  # lengths
            *[tf.TensorSpec([None], tf.int32)] * 2,  # rows, positions
            tf.TensorSpec([None], tf.int64),  # starts
            tf.TensorSpec(of_batches, tf.int32),  # widths
            tf.TensorSpec([None], tf.int64),  # shards
            tf.TensorSpec([None, 5], tf.int64),  # windows
            *[tf.TensorSpec([], tf.int64)] * 2,  # epoch, key
        ]
        # TensorFlow counts the traces of a function by its code, and warns of many; a partial has no code.
        return tf.function(functools.partial(pipeline), input_signature=signature, autograph=False)

    def _plan(self, epoch: int) -> list[Window]:
        records = self._records
        return self._batching.plan(
            records.lengths, seed=self._seed, epoch=epoch, shuffle=self._shuffle, label_ids=records.label_ids
        )


class _Order:
    """A plan as flat arrays, which the graph can slice.

    Attributes:
        rows: record indices, concatenated over batches.
        starts: the start of each batch in `rows`, and the end of the last.
        widths: (batches, k) or (batches, k, a), maximum length of each of the k sequences in each batch.
        shards: shard indices, concatenated over windows.
        positions: for each record, its index in its window; arbitrary for a record without a window.
        windows: (windows, 5) first and last shard, first and last batch, records.
    """

    def __init__(self, plan: list[Window], lengths: list[np.ndarray], start: int):
        batches = [rows for window in plan for rows in window.batches]
        self.rows = np.concatenate(batches).astype(np.int32)
        self.starts = np.cumsum([0, *map(len, batches)])
        self.widths = np.maximum.reduceat(np.concatenate(lengths)[self.rows], self.starts[:-1], axis=0)
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
    """Compute the row indices of all parts of a batch of `count` rows, and whether each row is real or padding."""
    size = -(-count // updates)  # rows per update
    own = -(-size // (replicas * accumulation)) * accumulation
    positions = parts[:, None, None] * own + tf.range(own)  # (parts, 1, own), in the update
    slots = tf.range(tf.cast(updates, tf.int64))[:, None] * size + positions  # (parts, updates, own)
    slots = tf.reshape(tf.where(positions < size, slots, count), [-1])
    real = slots < count
    return tf.where(real, slots, 0), real


def _divided(value: tf.Tensor, parts: int, axis: int = 0) -> tf.Tensor:
    """Divide an axis: (parts * n, ...) -> (parts, n, ...)."""
    sizes = [tf.shape(value)[index] if size is None else size for index, size in enumerate(value.shape)]
    return tf.reshape(value, [*sizes[:axis], parts, -1, *sizes[axis + 1 :]])
