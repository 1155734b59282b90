"""Records: round trip, and detection and location of damage."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfattn import files
from tfattn.data.examples.encoding import Feature, described
from tfattn.data.examples.parsing import parse
from tfattn.data.records import Records, write_encoded, write_records
from tfattn.errors import DataError, TfattnError


def stored(paths):
    return tf.constant([record for path in paths for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator()])


def test_parsing_returns_the_written_values(make_folder, examples):
    records = Records(make_folder(), "train")
    assert [len(shard) for shard in records.lengths] == [10, 10, 10, 10, 10, 3]
    stored_lengths = np.concatenate(records.lengths)
    batch = parse(stored(records.paths), records.features, stored_lengths, [15])
    lengths = stored_lengths[:, 0]
    assert lengths.tolist() == [len(example["input_ids"]) for example in examples]
    assert batch["token_ids"].shape == batch["padding_mask"].shape == (53, 15)
    assert batch["token_ids"].dtype == batch["label_ids"].dtype == tf.int32
    for row, example in enumerate(examples):
        mask = batch["padding_mask"][row].numpy()
        assert mask.tolist() == [True] * lengths[row] + [False] * (15 - lengths[row])
        assert batch["token_ids"][row].numpy()[mask].tolist() == example["input_ids"]
        assert batch["segment_ids"][row].numpy()[mask].tolist() == example["segment_ids"]
        assert not batch["token_ids"][row].numpy()[~mask].any()
        assert batch["label_ids"][row] == example["label_ids"]


def test_features_define_inputs_targets_and_masks(make_folder):
    records = Records(make_folder(), "train")
    assert sorted(records.inputs) == ["padding_mask", "segment_ids", "token_ids"]
    assert (records.targets, records.masks) == (("label_ids",), ("padding_mask",))


def test_encoded_vectors_round_trip_exactly(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    write_encoded(
        tmp_path / "encoded",
        {"train": {"encoded": vectors, "label_ids": np.array([0, 1, 1, 0, 2])}},
        targets={"label_ids": Feature("int64", role="target")},
    )
    records = Records(tmp_path / "encoded", "train")
    batch = parse(stored(records.paths), records.features)
    assert batch["encoded"].numpy().tolist() == vectors.tolist()
    assert batch["label_ids"].numpy().tolist() == [0, 1, 1, 0, 2]
    assert sorted(batch) == ["encoded", "label_ids"]


def test_an_unknown_split_is_named(make_folder):
    with pytest.raises(DataError, match="there are no test rows: expected one of train.*`data.split.test`"):
        Records(make_folder(), "test")


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


def test_a_flipped_byte_is_located(make_folder):
    folder = make_folder()
    path = sorted(folder.glob("*.tfrecord"))[2]
    first = next(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())
    data_of_second = len(first) + 16 + 12  # TFRecord puts 12 bytes before and 4 after each record
    flip(path, data_of_second + 8)
    with pytest.raises(DataError) as error:
        Records(folder, "train")
    assert str(error.value).startswith(f"{path}, byte {data_of_second}: the file's SHA-256 differs")


def test_a_cut_file_is_located(make_folder):
    folder = make_folder()
    path = sorted(folder.glob("*.tfrecord"))[0]
    whole = path.read_bytes()
    first = len(next(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())) + 16
    for kept, offset in [(first + 30, first), (first, first), (0, 0)]:
        path.write_bytes(whole[:kept])
        with pytest.raises(DataError) as error:
            Records(folder, "train")
        assert str(error.value).startswith(
            f"{path}, byte {offset}: the file has another size: expected {len(whole)} bytes, received {kept}"
        )


def test_a_missing_or_replaced_file_is_named(make_folder):
    folder = make_folder()
    lengths = folder / "train-00003-of-00006.lengths.npy"
    flip(lengths, -1)
    with pytest.raises(DataError, match="train-00003-of-00006.lengths.npy: the file's SHA-256 differs"):
        Records(folder, "train")
    lengths.unlink()
    with pytest.raises(DataError, match="train-00003-of-00006.lengths.npy: the file is missing"):
        Records(folder, "train")


def test_a_folder_without_manifest_is_refused(tmp_path):
    with pytest.raises(DataError, match="manifest.json"):
        Records(tmp_path, "train")


def test_a_foreign_shard_is_detected_by_its_checksum(make_folder):
    folder = make_folder()
    first, second, *_ = sorted(folder.glob("*.tfrecord"))
    manifest = files.read_manifest(folder)
    first.write_bytes(
        second.read_bytes().ljust(manifest["files"][first.name]["size"], b"\0")[: manifest["files"][first.name]["size"]]
    )
    with pytest.raises(DataError, match=f"{first.name}, byte"):
        Records(folder, "train")


def test_the_manifest_describes_all_features(make_folder):
    records = Records(make_folder(), "train")
    assert (
        json.loads(json.dumps(described(records.features))) == files.read_manifest(records.paths[0].parent)["features"]
    )
    assert records.manifest["splits"] == {"train": {"rows": 53, "shards": 6}}


def test_a_full_disk_is_reported(tmp_path):
    features = {"label_ids": Feature("int64", role="target")}
    rows = ({"label_ids": 1} for _ in range(100_000))
    with pytest.raises(TfattnError, match="no space left on the disk"), files.atomic_folder(tmp_path / "new") as folder:
        (folder / "train-00000-of-00001.tfrecord").symlink_to("/dev/full")
        write_records(folder, "train", rows, features=features, num_rows=100_000, rows_per_shard=100_000)
    assert list(tmp_path.iterdir()) == []
