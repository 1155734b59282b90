"""Precomputed examples of run_squad.py equal examples that are made of their texts."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.batching import Batching
from tfattn.data.examples.answer_targets import Answers
from tfattn.data.examples.answer_windows import AnswerWindows
from tfattn.data.examples.examples import Randomness
from tfattn.data.preparation.prepare import prepare, read_facts
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sources.bert_records import BertRecords
from tfattn.data.split_config import Split
from tfattn.errors import ConfigError, DataError
from tfattn.formats.squad_files import SquadFile
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

LENGTH = 12
VOCABULARY = [*SPECIAL_TOKENS, "who", "a", "b", "c", "d", "e"]
# Of unequal lengths; two have several windows, and two no answer.
QUESTIONS = [("a b c", "b"), ("c d e a b c d e a b", "e a"), ("b b a", ""), ("d a", "d a"), ("a c " * 7, "")]


def question(context, answer):
    answers = [{"text": answer, "answer_start": context.index(answer)}] if answer else []
    return {"context": context, "qas": [{"question": "who", "is_impossible": not answer, "answers": answers}]}


@pytest.fixture
def folder(tmp_path):
    content = {"data": [{"paragraphs": [question(*pair) for pair in QUESTIONS]}]}
    (tmp_path / "questions.json").write_text(json.dumps(content))
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in VOCABULARY))
    return tmp_path


def section(folder, source, **parts):
    options = {"max_length": LENGTH, "doc_stride": 4, "max_query_length": 3, "fields": ("question", "context")}
    defaults = {
        "preprocessing": WordPiece(vocabulary=str(folder / "vocab.txt"), **options),
        "batching": Batching(batch_size=64),
        "split": Split(validation=0),
        "targets": Answers(),
        "examples": AnswerWindows(),
        "validation_source": SquadFile(path=str(folder / "questions.json")),
    }
    return Data(source=source, **defaults | parts)


def write_as_google(folder):
    """Writes the windows of the questions in the layout of run_squad.py: padded to one length, with a mask."""
    data = section(folder, SquadFile(path=str(folder / "questions.json")))
    data.preprocessing.fit([])
    rows = list(data.source.rows())
    randomness = Randomness(np.zeros(len(rows), np.uint64), is_training=True)
    with tf.io.TFRecordWriter(str(folder / "train.tf_record")) as writer:
        for number, (_, values) in enumerate(data.examples.of(rows, data.preprocessing, data.targets, randomness)):
            size = len(values["input_ids"])
            features = {
                "unique_ids": [1_000_000_000 + number],
                "input_ids": values["input_ids"] + [0] * (LENGTH - size),
                "input_mask": [1] * size + [0] * (LENGTH - size),
                "segment_ids": values["segment_ids"] + [0] * (LENGTH - size),
                **{name: [values[name]] for name in ("start_positions", "end_positions", "is_impossible")},
            }
            example = tf.train.Example()
            for name, numbers in features.items():
                example.features.feature[name].int64_list.value.extend(numbers)
            writer.write(example.SerializeToString())
    return BertRecords(path=str(folder / "train.tf_record"))


def batch_of(folder, split):
    reader = Reader(folder, split, batching=Batching(batch_size=64), seed=1, shuffle=False)
    return {name: value.numpy() for name, value in next(iter(reader.dataset(0))).items()}


def taught(batch):
    """What each example teaches, in any order: its real tokens, which of them stand in the text, and the answer."""
    real = batch["padding_mask"]
    names = ("token_ids", "segment_ids")
    return sorted(
        (
            *(tuple(batch[name][row][real[row]].tolist()) for name in names),
            tuple((batch["ends"][row][real[row]] > 0).tolist()),
            *(int(batch[name][row]) for name in ("start_positions", "end_positions", "is_impossible")),
        )
        for row in range(len(real))
    )


def test_records_of_run_squad_equal_prepared_texts(folder):
    prepare(section(folder, write_as_google(folder)), folder / "records", seed=1)
    prepare(section(folder, SquadFile(path=str(folder / "questions.json"))), folder / "texts", seed=1)
    assert taught(batch_of(folder / "records", "train")) == taught(batch_of(folder / "texts", "train"))
    measured = [batch_of(folder / name, "validation") for name in ("records", "texts")]
    assert taught(measured[0]) == taught(measured[1]) and measured[0]["starts"].any()
    facts = read_facts(folder / "records")
    assert facts["targets"]["unanswerable"] and facts["splits"]["train"]["rows"] > facts["splits"]["validation"]["rows"]


def test_records_without_texts_cannot_be_evaluated(folder):
    records = write_as_google(folder)
    for parts in ({"validation_source": None, "split": Split()}, {"validation_source": records}):
        with pytest.raises(ConfigError, match="do not say what their texts are.*expected a source of texts") as error:
            section(folder, records, **parts)
        assert error.value.key == "validation_source"


def test_records_of_another_task_are_reported(folder):
    example = tf.train.Example()
    example.features.feature["input_ids"].int64_list.value.extend([2, 5, 3])
    with tf.io.TFRecordWriter(str(folder / "other.tf_record")) as writer:
        writer.write(example.SerializeToString())
    data = section(folder, BertRecords(path=str(folder / "other.tf_record")))
    with pytest.raises(DataError, match="other.tf_record:1: the example lacks .*received none for .*start_positions"):
        prepare(data, folder / "prepared", seed=1)
