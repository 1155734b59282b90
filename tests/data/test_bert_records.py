"""Records that google-research/bert makes are prepared as they are, and ours parse by its features."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.test_sentence_pairs import WORDS
from tfattn.data.batching import Batching
from tfattn.data.bert_records import BertRecords
from tfattn.data.create_pretraining_data import create_pretraining_data
from tfattn.data.document_files import DocumentFiles
from tfattn.data.examples import Examples
from tfattn.data.packed_texts import PackedTexts
from tfattn.data.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sentence_pairs import SentencePairs
from tfattn.data.split import Split
from tfattn.data.targets import Target
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.wordpiece import WordPiece

LENGTH, PREDICTIONS = 24, 4
# As run_pretraining.py of google-research/bert parses them (input_fn_builder).
GOOGLE = {
    "input_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "input_mask": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "segment_ids": tf.io.FixedLenFeature([LENGTH], tf.int64),
    "masked_lm_positions": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_ids": tf.io.FixedLenFeature([PREDICTIONS], tf.int64),
    "masked_lm_weights": tf.io.FixedLenFeature([PREDICTIONS], tf.float32),
    "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    random = np.random.default_rng(3)
    documents = ["\n".join(" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(8)) for _ in range(40)]
    (folder / "text.txt").write_text("\n\n".join(documents))
    return folder


def created(folder, *names, seed=5):
    return create_pretraining_data(
        input_file=[str(folder / "te*.txt")],
        output_file=[str(folder / name) for name in names],
        vocabulary=str(folder / "vocab.txt"),
        lower_case=True,
        max_length=LENGTH,
        seed=seed,
        dupe_factor=3,
        max_predictions_per_seq=PREDICTIONS,
    )


@pytest.fixture(scope="module")
def records(folder):
    count = created(folder, "a.tfrecord", "b.tfrecord")
    return count, [str(folder / name) for name in ("a.tfrecord", "b.tfrecord")]


def section(folder, source, examples):
    return Data(
        source=source,
        preprocessing=WordPiece(vocabulary=str(folder / "vocab.txt"), max_length=LENGTH),
        batching=Batching(batch_size=8),
        split=Split(validation=0.2),
        targets=Target(),
        examples=examples,
    )


def test_records_parse_by_the_features_of_google_research_bert(records):
    count, paths = records
    parsed = [tf.io.parse_single_example(record, GOOGLE) for record in tf.data.TFRecordDataset(paths)]
    assert len(parsed) == count > 100
    for one in parsed[:50]:
        real, weights = one["input_mask"].numpy(), one["masked_lm_weights"].numpy()
        length = real.sum()
        assert (np.diff(real) <= 0).all() and (one["input_ids"].numpy() > 0).sum() == length
        assert one["segment_ids"].numpy()[length:].sum() == 0
        assert weights.sum() == min(PREDICTIONS, max(1, round(0.15 * length)))
        assert not one["masked_lm_ids"].numpy()[weights == 0].any()


def test_files_get_equally_many_and_those_of_a_text_are_far_apart(records):
    sizes = [sum(1 for _ in tf.data.TFRecordDataset(path)) for path in records[1]]
    assert abs(sizes[0] - sizes[1]) <= 1


def test_the_same_seed_makes_the_same_files(folder, records):
    created(folder, "again.tfrecord"), created(folder, "once_more.tfrecord"), created(folder, "other.tfrecord", seed=6)
    first, same, other = ((folder / f"{name}.tfrecord").read_bytes() for name in ("again", "once_more", "other"))
    assert first == same != other
    assert not list(folder.glob(".pretraining-data-*"))


def test_made_records_train_without_conversion(folder, records):
    count, paths = records
    prepare(section(folder, BertRecords(path=paths), SentencePairs()), folder / "prepared", seed=1)
    reader = Reader(folder / "prepared", "train", batching=Batching(batch_size=8), seed=1, shuffle=False)
    validation = Reader(folder / "prepared", "validation", batching=Batching(batch_size=8), seed=1, shuffle=False)
    assert reader.num_records + validation.num_records == count
    expected = {
        bytes(one["input_ids"].numpy()[: one["input_mask"].numpy().sum()].astype("int32"))
        for one in (tf.io.parse_single_example(record, GOOGLE) for record in tf.data.TFRecordDataset(paths))
    }
    batch = next(iter(reader.dataset(0)))
    assert set(batch) >= {"token_ids", "segment_ids", "padding_mask", "masked_lm_positions", "next_sentence_labels"}
    for row, real in zip(batch["token_ids"].numpy(), batch["padding_mask"].numpy(), strict=True):
        assert bytes(row[real]) in expected
    assert batch["masked_lm_weights"].shape == batch["masked_lm_ids"].shape
    assert (batch["masked_lm_weights"].numpy().sum(axis=1) >= 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": 10}, "a token that is not in the vocabulary: expected ids below 10"),
        ({"max_length": 12}, "a.tfrecord:[0-9]+: the example is too long: expected at most 12 tokens"),
        ({"examples": PackedTexts()}, "lacks what the task needs: .*received none for sequence_ids"),
    ],
)
def test_records_that_do_not_suit_are_told(folder, records, tmp_path, change, message):
    data = section(folder, BertRecords(path=records[1]), change.get("examples", SentencePairs()))
    if "vocabulary" in change:
        lines = (folder / "vocab.txt").read_text().splitlines()
        (tmp_path / "vocab.txt").write_text("\n".join(lines[: change["vocabulary"]]))
        data.preprocessing.vocabulary = str(tmp_path / "vocab.txt")
    data.preprocessing.max_length = change.get("max_length", LENGTH)
    with pytest.raises(DataError, match=message):
        prepare(data, tmp_path / "prepared", seed=1)


def test_a_file_that_is_none_is_told(folder, tmp_path):
    (tmp_path / "x.tfrecord").write_text("some text, and more of it")
    with pytest.raises(DataError, match="x.tfrecord:1.*the record cannot be read"):
        list(BertRecords(path=str(tmp_path / "x.tfrecord")).rows())
    with pytest.raises(ConfigError, match="this source has examples to pre-train on"):
        section(folder, BertRecords(path="x"), Examples())


def test_documents_that_make_no_pair_are_told(folder, tmp_path):
    (tmp_path / "lone.txt").write_text("\n\n".join(WORDS[:40]))
    with pytest.raises(
        DataError, match="no example can be made of the train rows: expected documents of two sentences"
    ):
        prepare(
            section(folder, DocumentFiles(path=str(tmp_path / "lone.txt")), SentencePairs()), tmp_path / "p", seed=1
        )


@pytest.mark.parametrize("examples", [SentencePairs(masking="dynamic", dupe_factor=2), PackedTexts()])
def test_dynamic_masks_are_drawn_anew_in_each_epoch(folder, tmp_path, examples):
    data = section(folder, DocumentFiles(path=str(folder / "text.txt")), examples)
    prepare(data, tmp_path / "prepared", seed=1)
    transforms = data.examples.transforms(data.preprocessing)
    options = {"batching": Batching(batch_size=64), "seed": 1, "shuffle": False}
    reader = Reader(tmp_path / "prepared", "train", transforms=transforms, **options)
    assert reader.targets.count("masked_lm_ids") == 1
    epochs = [next(iter(reader.dataset(epoch))) for epoch in (0, 1, 0)]
    positions = [batch["masked_lm_positions"].numpy().tolist() for batch in epochs]
    assert positions[0] == positions[2] != positions[1]
    assert epochs[0]["masked_lm_weights"].numpy().sum(axis=1).min() >= 1
    frozen = Reader(tmp_path / "prepared", "validation", **options)
    batch = next(iter(frozen.dataset(0)))
    assert (batch["masked_lm_weights"].numpy().sum(axis=1) >= 1).all()
