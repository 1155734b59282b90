"""The export of a tagger: entities of the text, aligned to words, independent of the batch."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model
from tfattn.export.tagging import Tagger
from tfattn.tasks.token_classification import TokenClassification
from tfattn.trained.ensemble import TrainedEnsemble

TYPES = ["LOC", "Ørt"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "in", "rome", "hel", "##sin", "##ki", "ange", "##le", ".", "海", "u", "n"]
TEXTS = ["In Rome.", "Angelé  U.N. in HELSINKI, 海海 in", "", "in\U0001f600rome \u200bin zebra\u0301 Rome"]
ROWS = [{"text": text, "row": f"x:{number}"} for number, text in enumerate(TEXTS)]


@pytest.fixture
def task(small_bert):
    def task(seed):
        made = TokenClassification(model=small_bert(WORDS, seed), targets={"labels": TYPES, "counts": [1, 1]})
        made.head.kernel.assign(np.random.default_rng(seed).normal(scale=2, size=made.head.kernel.shape))
        return made

    return task


@pytest.fixture
def tokenizer(wordpiece):
    return functools.partial(wordpiece, WORDS, "words")


@pytest.mark.parametrize("options", [{}, {"max_length": 6, "doc_stride": 2}])
def test_contract(task, tokenizer, tmp_path, options):
    reads = tokenizer(**options)
    outputs = check_servable_model(
        Tagger, TrainedEnsemble([(reads, task(1)), (reads, task(2))]), ROWS, folder=tmp_path, litert=bool(options)
    )
    assert {name: value.dtype for name, value in outputs.items() if name not in ("entities", "labels")} == {
        "start": np.int32,
        "end": np.int32,
        "score": np.float32,
        "length": np.int32,
        "truncated": np.bool_,
    }
    assert outputs["length"].sum() > 3
    for row, text in enumerate(TEXTS):
        for number in range(outputs["length"][row]):
            start, end = outputs["start"][row, number], outputs["end"][row, number]
            assert outputs["entities"][row, number].decode() == text[start:end] != ""
            assert outputs["labels"][row, number].decode() in TYPES and 0 < outputs["score"][row, number] <= 1


class Said(Tagger):
    """A tagger whose models say what the test wants."""

    said: list

    def _predicted(self, features, num_rows):
        (features,) = features
        numbers = features["word_numbers"]
        order = tf.argsort(tf.where(numbers > 0, numbers, 10**6), axis=1)
        positions = {
            name: tf.gather(features[name], order, batch_dims=1) for name in ("word_numbers", "starts", "ends")
        }
        width = tf.shape(numbers)[1]
        label_ids = tf.ragged.constant(self.label_ids, tf.int32).to_tensor(shape=[None, None])
        label_ids = tf.pad(label_ids, [[0, 0], [0, width - tf.shape(label_ids)[1]]])
        return {**positions, "label_ids": label_ids, "scores": tf.one_hot(label_ids, 5) * 0.5}


def test_entities_are_aligned_to_words_of_the_text(task, tokenizer):
    served = Said(TrainedEnsemble([(tokenizer(), task(1))]))
    # I after O begins; I of another type begins; B after I begins anew; the words of U.N. are four.
    served.label_ids = [[0, 2, 0], [4, 1, 2, 2, 2, 0, 3, 2, 1, 2, 2], [], [2, 3, 4]]
    found = served.signatures()["serving_default"](tf.constant(TEXTS))
    named = [
        [(entity.decode(), label.decode()) for entity, label in zip(*pair, strict=True) if entity]
        for pair in zip(found["entities"].numpy(), found["labels"].numpy(), strict=True)
    ]
    assert named == [
        [("Rome", "LOC")],
        [("Angelé", "Ørt"), ("U.N.", "LOC"), ("HELSINKI", "Ørt"), ("海海 in", "LOC")],
        [],
        [("in\U0001f600rome", "LOC"), ("in zebra", "Ørt")],
    ]
    assert found["length"].numpy().tolist() == [1, 4, 0, 2]
    np.testing.assert_allclose(found["score"].numpy()[1], [0.5] * 4)


def test_invalid_utf8_bytes_count_as_one_character_each(task, tokenizer):
    served = Said(TrainedEnsemble([(tokenizer(), task(1))]))
    served.label_ids = [[0, 1]]
    found = served.signatures()["serving_default"](tf.constant([b"in\xff \xe2\x82 Rome"]))
    assert found["entities"].numpy().tolist() == [[b"Rome"]]
    assert (found["start"].numpy().tolist(), found["end"].numpy().tolist()) == ([[6]], [[10]])


def test_texts_without_spaces_are_unchanged(task, tokenizer):
    served = Said(TrainedEnsemble([(tokenizer(), task(1))]))
    served.label_ids = [[0, 1, 2, 0, 3]]  # a run of Latin letters is one word, next to characters that are one each
    found = served.signatures()["serving_default"](tf.constant(["海海Ｒome\u3000海。n"]))
    assert [entity.decode() for entity in found["entities"].numpy()[0]] == ["海Ｒome"]
    assert (found["start"].numpy().tolist(), found["end"].numpy().tolist()) == ([[1]], [[6]])


def test_logits_are_those_of_the_trained_model(task, tokenizer):
    reads, one = tokenizer(), task(1)
    served = Tagger(TrainedEnsemble([(reads, one)]))
    tokens = served._inputs.tokens({"text": TEXTS})
    found = served.signatures()["logits"](*tokens.values())["logits"]
    np.testing.assert_allclose(found, one(tokens)["logits"], atol=1e-5)
