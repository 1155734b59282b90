"""Records in the layout of google-research/bert: unchanged content, and errors."""

import pytest
import tensorflow as tf

from tests.data.preparation.test_create_pretraining_data import GOOGLE, LENGTH, PREDICTIONS
from tests.data.small_documents import WORDS, write
from tfattn.data.batching import Batching
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.packed_texts import PackedTexts
from tfattn.data.examples.sentence_pairs import SentencePairs
from tfattn.data.examples.targets import Target
from tfattn.data.preparation.create_pretraining_data import create_pretraining_data
from tfattn.data.preparation.prepare import prepare
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sources.bert_records import BertRecords
from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.split_config import Split
from tfattn.errors import ConfigError, DataError
from tfattn.preprocessing.wordpiece import WordPiece


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def records(folder):
    paths = [str(folder / name) for name in ("a.tfrecord", "b.tfrecord")]
    count = create_pretraining_data(
        input_file=[str(folder / "text.txt")],
        output_file=paths,
        vocabulary=str(folder / "vocab.txt"),
        lower_case=True,
        max_length=LENGTH,
        seed=5,
        dupe_factor=3,
        max_predictions_per_seq=PREDICTIONS,
    )
    return count, paths


def section(folder, source, examples):
    return Data(
        source=source,
        preprocessing=WordPiece(vocabulary=str(folder / "vocab.txt"), max_length=LENGTH),
        batching=Batching(batch_size=8),
        split=Split(validation=0.2),
        targets=Target(),
        examples=examples,
    )


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
def test_unsuitable_records_are_reported(folder, records, tmp_path, change, message):
    data = section(folder, BertRecords(path=records[1]), change.get("examples", SentencePairs()))
    if "vocabulary" in change:
        lines = (folder / "vocab.txt").read_text().splitlines()
        (tmp_path / "vocab.txt").write_text("\n".join(lines[: change["vocabulary"]]))
        data.preprocessing.vocabulary = str(tmp_path / "vocab.txt")
    data.preprocessing.max_length = change.get("max_length", LENGTH)
    with pytest.raises(DataError, match=message):
        prepare(data, tmp_path / "prepared", seed=1)


def test_a_file_without_records_is_reported(folder, tmp_path):
    (tmp_path / "x.tfrecord").write_text("some text, and more of it")
    with pytest.raises(DataError, match="x.tfrecord:1.*the record cannot be read"):
        list(BertRecords(path=str(tmp_path / "x.tfrecord")).rows())
    with pytest.raises(ConfigError, match="this source has examples that are made already"):
        section(folder, BertRecords(path="x"), Examples())


def test_documents_without_pairs_are_reported(folder, tmp_path):
    (tmp_path / "lone.txt").write_text("\n\n".join(WORDS[:40]))
    with pytest.raises(
        DataError, match="no example can be made of the train rows: expected documents of two sentences"
    ):
        prepare(
            section(folder, DocumentFiles(path=str(tmp_path / "lone.txt")), SentencePairs()), tmp_path / "p", seed=1
        )


@pytest.mark.parametrize("examples", [SentencePairs(masking="dynamic", dupe_factor=2), PackedTexts()])
def test_dynamic_masks_are_sampled_again_in_each_epoch(folder, tmp_path, examples):
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
