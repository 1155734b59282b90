"""The reader: equal rows in equal batches from any position and for any number of replicas."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.data.conftest import write_folder
from tfattn.data.batching import Batching
from tfattn.data.examples.encoding import Feature
from tfattn.data.reader import Reader
from tfattn.data.records import write_encoded
from tfattn.errors import ConfigError

BATCHING = {"max_tokens": 60, "window": 25}


@pytest.fixture
def reader(make_folder):
    return Reader(make_folder(), "train", batching=Batching(**BATCHING), seed=3, shuffle=True)


@pytest.fixture(scope="module")
def reader_folder(tmp_path_factory, examples):
    return write_folder(tmp_path_factory.mktemp("reader") / "prepared", examples)


def elements(dataset):
    return [{name: value.numpy() for name, value in element.items()} for element in dataset]


def same(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def real_rows(parts):
    ids = np.concatenate([part["record_ids"] for part in parts])
    return ids[ids >= 0].tolist()


@pytest.mark.parametrize("batching", [Batching(batch_size=7), Batching(max_tokens=60)])
def test_no_batch_has_more_rows_than_the_maximum(reader_folder, batching):
    reader = Reader(reader_folder, "train", batching=batching, seed=5, shuffle=True)
    sizes = [len(rows) for epoch in range(3) for window in reader.plan(epoch) for rows in window.batches]
    assert max(sizes) <= reader.max_rows <= 60


def test_every_row_occurs_once_with_its_values(reader, examples):
    batches = elements(reader.dataset(0))
    assert len(batches) == reader.num_batches(0)
    assert sorted(real_rows(batches)) == list(range(reader.num_records)) == list(range(53))
    for batch in batches:
        assert {name: str(value.dtype) for name, value in batch.items()} == {
            "token_ids": "int32",
            "segment_ids": "int32",
            "padding_mask": "bool",
            "label_ids": "int32",
            "record_ids": "int32",
            "weights": "float32",
        }
        assert batch["token_ids"].shape[1] == batch["padding_mask"].sum(axis=1).max()
        assert batch["token_ids"].size <= BATCHING["max_tokens"]
        for place, row in enumerate(batch["record_ids"]):
            mask = batch["padding_mask"][place]
            assert batch["token_ids"][place][mask].tolist() == examples[row]["input_ids"]
            assert batch["segment_ids"][place][mask].tolist() == examples[row]["segment_ids"]
            assert batch["label_ids"][place] == examples[row]["label_ids"]


@settings(max_examples=12, deadline=None)
@given(
    size=st.sampled_from([{"batch_size": 6}, {"batch_size": 3}, {"max_tokens": 40}]),
    balanced=st.booleans(),
    asked=st.one_of(st.none(), st.integers(1, 40)),
    window=st.integers(1, 60),
    bucket=st.booleans(),
    shuffle=st.booleans(),
    start=st.integers(0, 3),
    updates=st.integers(1, 3),
)
@example({"batch_size": 6}, True, 1, 25, True, True, 0, 1)
@example({"batch_size": 6}, True, 10, 25, True, True, 0, 1)
def test_an_epoch_has_the_planned_batches(
    reader_folder, size, balanced, asked, window, bucket, shuffle, start, updates
):
    balance = {"balanced": True, "batches_per_epoch": asked} if balanced and "batch_size" in size else {}
    batching = Batching(**size, **balance, window=window, bucket_by_length=bucket)
    reader = Reader(reader_folder, "train", batching=batching, seed=3, shuffle=shuffle)
    planned = [rows.tolist() for part in reader.plan(1) for rows in part.batches]
    assert reader.num_batches(1) == len(planned)
    if balance and shuffle and asked:
        assert len(planned) == asked
    elif not (balance and shuffle):
        assert sorted(sum(planned, [])) == list(range(53))
    batches = elements(reader.dataset(1, start=start, updates=updates))
    assert [real_rows([batch]) for batch in batches] == planned[start:]
    if balance and shuffle:
        share = size["batch_size"] // 3
        for batch in batches:
            real = batch["record_ids"] >= 0
            assert np.bincount(batch["label_ids"][real]).tolist() == [share] * 3


def test_runs_agree_and_epochs_differ(make_folder):
    first, second = (
        Reader(make_folder(name), "train", batching=Batching(**BATCHING), seed=3, shuffle=True) for name in "ab"
    )
    assert all(map(same, elements(first.dataset(1)), elements(second.dataset(1))))
    assert real_rows(elements(first.dataset(0))) != real_rows(elements(first.dataset(1)))


def test_a_later_start_skips_batches(reader):
    whole = elements(reader.dataset(2, replicas=2))
    for start in (1, 4, reader.num_batches(2) - 1):
        rest = elements(reader.dataset(2, start=start, replicas=2))
        assert len(rest) == len(whole) - 2 * start
        assert all(map(same, rest, whole[2 * start :]))


@pytest.mark.parametrize("replicas, accumulation", [(1, 4), (2, 1), (3, 2), (4, 1), (8, 3)])
def test_batches_do_not_depend_on_replicas_or_accumulation(reader, replicas, accumulation):
    alone = elements(reader.dataset(0))
    divided = elements(reader.dataset(0, replicas=replicas, accumulation=accumulation))
    assert len(divided) == replicas * len(alone)
    for number, batch in enumerate(alone):
        parts = divided[number * replicas : (number + 1) * replicas]
        assert real_rows(parts) == batch["record_ids"].tolist()
        assert sum(part["weights"].sum() for part in parts) == len(batch["record_ids"])
        assert len({part["token_ids"].shape for part in parts}) == 1
        assert parts[0]["token_ids"].shape[1] == batch["token_ids"].shape[1]
        assert len(parts[0]["record_ids"]) % accumulation == 0
        filling = np.concatenate([part["token_ids"][part["weights"] == 0] for part in parts])
        assert (filling == batch["token_ids"][0]).all()
        assert all(((part["record_ids"] < 0) == (part["weights"] == 0)).all() for part in parts)


@pytest.mark.parametrize("replicas, accumulation", [(1, 1), (2, 3)])
def test_columns_are_targets_of_their_records(reader_folder, replicas, accumulation):
    columns = {"known": np.arange(106, dtype="float32").reshape(53, 2)}
    batching = Batching(**BATCHING)
    reader = Reader(reader_folder, "train", batching=batching, seed=3, shuffle=True, columns=columns)
    assert "known" in reader.targets and "known" not in reader.inputs
    for batch in elements(reader.dataset(0, replicas=replicas, accumulation=accumulation)):
        real = batch["record_ids"] >= 0
        assert np.array_equal(batch["known"][real], columns["known"][batch["record_ids"][real]])


@pytest.mark.parametrize("replicas, accumulation, updates", [(1, 1, 2), (2, 1, 3), (3, 2, 2), (1, 1, 50)])
def test_updates_of_a_batch_have_the_same_rows_for_any_number_of_replicas(reader, replicas, accumulation, updates):
    divided = elements(reader.dataset(0, replicas=replicas, accumulation=accumulation, updates=updates))
    for number, batch in enumerate(elements(reader.dataset(0))):
        parts = divided[number * replicas : (number + 1) * replicas]
        rows = batch["record_ids"].tolist()
        size = -(-len(rows) // updates)
        for update in range(updates):
            own = [{name: value[update] for name, value in part.items()} for part in parts]
            assert real_rows(own) == rows[update * size : (update + 1) * size]
            assert all(len(part["record_ids"]) % accumulation == 0 for part in own)
            assert all(((part["record_ids"] < 0) == (part["weights"] == 0)).all() for part in own)


def test_the_batches_of_all_workers_are_the_whole(reader):
    whole = elements(reader.dataset(0, start=2, replicas=4, accumulation=2))
    workers = [elements(reader.dataset(0, start=2, replicas=4, accumulation=2, local=range(w, w + 2))) for w in (0, 2)]
    together = [
        part
        for pair in zip(*(zip(w[::2], w[1::2], strict=True) for w in workers), strict=True)
        for two in pair
        for part in two
    ]
    assert len(together) == len(whole)
    assert all(map(same, together, whole))


def test_a_later_start_ends_at_the_end_of_the_epoch(reader):
    assert elements(reader.dataset(0, start=reader.num_batches(0))) == []


def test_padding_is_measured_as_a_fraction(reader):
    batches = elements(reader.dataset(0))
    padded = sum(batch["padding_mask"].size for batch in batches)
    assert reader.waste(0) == pytest.approx(1 - sum(batch["padding_mask"].sum() for batch in batches) / padded)


def test_the_longest_row_must_fit_into_a_batch(make_folder):
    with pytest.raises(ConfigError, match="the longest row does not fit"):
        Reader(make_folder(), "train", batching=Batching(max_tokens=5), seed=3, shuffle=True)


def test_cached_vectors_are_read_in_the_same_way(tmp_path):
    vectors = np.arange(21, dtype=np.float32).reshape(7, 3)
    columns = {"train": {"encoded": vectors, "label_ids": np.arange(7) % 2}}
    write_encoded(tmp_path / "encoded", columns, targets={"label_ids": Feature("int64", role="target")})
    reader = Reader(tmp_path / "encoded", "train", batching=Batching(batch_size=4), seed=0, shuffle=True)
    batches = elements(reader.dataset(0, replicas=2))
    assert sorted(real_rows(batches)) == list(range(7))
    for batch in batches:
        assert sorted(batch) == ["encoded", "label_ids", "record_ids", "weights"]
        rows = batch["record_ids"][batch["weights"] > 0]
        assert batch["encoded"][batch["weights"] > 0].tolist() == vectors[rows].tolist()


def test_reading_does_not_run_python(reader):
    serialized = tf.raw_ops.DatasetToGraphV2(input_dataset=tf.data.experimental.to_variant(reader.dataset(0)))
    graph = tf.compat.v1.GraphDef.FromString(serialized.numpy())
    operations = {node.op for function in graph.library.function for node in function.node_def}
    assert any("ParseExample" in name for name in operations)
    assert not [name for name in operations if "PyFunc" in name]


def test_an_iterator_does_not_wait_for_autotuning(reader):
    # Such a thread sleeps for up to a minute once an iterator has lived for some, and holds up its end.
    assert reader.dataset(0).options().autotune.enabled is False
