"""Shards: equal sizes and sorted keys, independent of the parts of their records."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.encoding import Feature, serialized
from tfattn.data.preparation import gather
from tfattn.data.preparation.gather import shards
from tfattn.data.preparation.scatter import SCATTERED
from tfattn.data.preparation.units import Rows, Work
from tfattn.formats.parts import Part

FEATURES = {"input_ids": Feature("int64", (None,)), "label_ids": Feature("int64", role="target")}


def write_part(folder, number, keys, *, runs=1):
    """A part whose records hold their keys."""
    place = folder / SCATTERED / f"{number:06d}"
    place.mkdir(parents=True)
    some = [np.sort(np.array(keys[run::runs], np.uint64)) for run in range(runs)]
    keys = np.concatenate(some)
    examples = [{"input_ids": [key] * (1 + key % 3), "label_ids": key % 2} for key in keys.tolist()]
    records = serialized(examples, FEATURES)
    (place / "train.records").write_bytes(b"".join(records))
    columns = {
        "keys": keys,
        "offsets": np.cumsum([0, *map(len, records)]),
        "runs": np.cumsum([0, *map(len, some)]),
        "rows": keys.astype(np.int64) * 10,
        "lengths": (1 + keys % 3).astype(np.int32)[:, None],
        "label_ids": (keys % 2).astype(np.int32),
    }
    for name, values in columns.items():
        np.save(place / f"train.{name}.npy", values)
    return Rows(number, "source", Part())


def gathered(folder, units):
    """Keys, rows and labels of each shard."""
    work = Work(None, folder, 0, features=FEATURES)
    found = []
    for unit in shards(folder, "train", units):
        gather.gather(work, unit)
        for path in sorted((folder / gather.GATHERED / unit.name).glob("*.tfrecord")):
            stored = tf.io.parse_example(
                list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()),
                {"label_ids": tf.io.FixedLenFeature([], tf.int64)},
            )
            beside = {name: np.load(path.with_suffix(f".{name}.npy")) for name in ("rows", "lengths", "label_ids")}
            assert beside["label_ids"].tolist() == stored["label_ids"].numpy().tolist()
            assert (beside["lengths"][:, 0] == 1 + beside["rows"] // 10 % 3).all()
            found.append((beside["rows"] // 10).tolist())
    return found


@pytest.mark.parametrize(("at_once", "runs"), [(1, 1), (2, 3), (16, 2)])
def test_shards_have_the_requested_sizes_in_order(tmp_path, monkeypatch, at_once, runs):
    monkeypatch.setattr(gather, "ROWS_PER_SHARD", 4)
    monkeypatch.setattr(gather, "SHARDS_AT_ONCE", at_once)
    keys = np.random.default_rng(0).permutation(30)
    parts = np.split(keys, [7, 7, 20])
    units = [write_part(tmp_path, number, part, runs=runs if len(part) else 1) for number, part in enumerate(parts)]
    found = gathered(tmp_path, units)
    assert [len(shard) for shard in found] == [4] * 7 + [2]
    assert [key for shard in found for key in shard] == list(range(30))


def test_examples_of_one_row_stay_in_one_shard(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "ROWS_PER_SHARD", 4)
    units = [write_part(tmp_path, 0, [1, 2, 3, 5, 5, 5, 5, 5, 5, 9]), write_part(tmp_path, 1, [4, 7])]
    assert gathered(tmp_path, units) == [[1, 2, 3, 4], [5] * 6 + [7, 9]]
