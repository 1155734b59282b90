"""An exported masked language model predicts each [MASK] as the trained model does."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.contracts.servable_model import check_servable_model, signatures_of
from tfattn import pretrained
from tfattn.export.fill_mask import FillMask
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.models.bert import Bert
from tfattn.models.modern_bert import ModernBert
from tfattn.tasks.bert_pretraining import BertPretraining
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.trained.ensemble import TrainedEnsemble

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "man", "went", "to", "store", ".", "##s", "天", "气"]
ROWS = [{"text": "The [MASK] went to the [MASK] ."}, {"text": "man[MASK]"}, {"text": "天[MASK]"}]
SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 12}


@pytest.fixture(scope="module")
def tokenizer(wordpiece):
    return wordpiece(WORDS, max_length=12)


def ensemble(tokenizer, task=MaskedLm, model=Bert):
    keras.utils.set_random_seed(1)
    encoder = model(vocabulary_size=len(WORDS), initializer_range=0.5, **SIZES)
    return TrainedEnsemble([(tokenizer, task(model=encoder))])


@pytest.fixture(scope="module")
def served(tokenizer):
    return FillMask(ensemble(tokenizer))


def asked(served, *texts, signature="serving_default"):
    answer = signatures_of(served)[signature](tf.constant(texts, tf.string))
    return {name: value.numpy() for name, value in answer.items()}


@pytest.mark.parametrize(("task", "model"), [(MaskedLm, ModernBert), (BertPretraining, Bert)])
def test_contract(tokenizer, task, model, tmp_path):
    one = ensemble(tokenizer, task, model)
    check_servable_model(
        FillMask, one, ROWS, folder=tmp_path, expected=FillMask(one).ensemble.predict(ROWS), litert=True
    )


def test_the_first_mask_has_the_top_tokens(served):
    answer = asked(served, *(row["text"] for row in ROWS))
    assert {name: value.shape for name, value in answer.items()} == {
        "token": (3, 10),
        "token_str": (3, 10),
        "score": (3, 10),
        "sequence": (3, 10),
        "masks": (3,),
        "truncated": (3,),
    }
    assert answer["masks"].tolist() == [2, 1, 1]
    assert (np.diff(answer["score"]) <= 0).all() and (answer["score"].sum(axis=1) <= 1).all()
    for token, text in zip(answer["token"].flat, answer["token_str"].flat, strict=True):
        assert WORDS[token] == text.decode()
    for token, sequence in zip(answer["token_str"][0], answer["sequence"][0], strict=True):
        word = token.decode()
        if not word.startswith("##"):
            assert sequence.decode() == f"The {word} went to the [MASK] ."


def test_each_mask_is_filled_separately(served):
    texts = [row["text"] for row in ROWS]
    every, first = asked(served, *texts, signature="all_masks"), asked(served, *texts)
    assert every["score"].shape == (3, 2, 10)
    for name in ("token", "token_str", "score", "sequence"):
        np.testing.assert_array_equal(every[name][:, 0], first[name])
    assert every["token_str"][1, 1].tolist() == [b""] * 10 and every["score"][1, 1].tolist() == [0.0] * 10
    assert all(text.startswith(b"The [MASK] went to the") for text in every["sequence"][0, 1])


def test_a_piece_that_continues_a_word_joins_it(tokenizer):
    one = ensemble(tokenizer)
    bias = np.zeros(len(WORDS), "float32")
    bias[WORDS.index("##s")] = 99.0
    one.task.masked_lm_head.bias.assign(bias)
    answer = asked(FillMask(one), "man [MASK] went", "store[MASK].")
    assert answer["token_str"][:, 0].tolist() == [b"##s", b"##s"]
    assert answer["sequence"][:, 0].tolist() == [b"mans went", b"stores."]


def test_texts_without_a_mask_are_refused_and_cut_texts_flagged(served):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"text in row 2 has no \[MASK\] among its first 10 tokens"
    ):
        asked(served, "the [MASK]", "the man")
    with pytest.raises(tf.errors.InvalidArgumentError, match="row 1 has no"):
        asked(served, "the " * 10 + "[MASK]")
    answer = asked(served, "[MASK] " + "the " * 10 + "[MASK]")
    assert answer["truncated"].tolist() == [True] and answer["masks"].tolist() == [1]


def test_no_texts_give_no_predictions(served):
    for signature in ("serving_default", "all_masks"):
        assert all(len(value) == 0 for value in asked(served, signature=signature).values())


@pytest.fixture(scope="module")
def exported(tokenizer, tmp_path_factory):
    """An export, with the task that it is made of."""
    one = ensemble(tokenizer, model=ModernBert)
    served = FillMask(one)
    rows = served.questions([{"text": "the man went to the store .\nto the man", "row": "a.txt:1"}, {"text": "天气"}])
    config = "model: {name: modern_bert, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 16,\n"
    config += "  max_sequence_length: 12, initializer_range: 0.5, pretrained: null}\n"
    config += "data: {preprocessing: {name: wordpiece}}\n"
    folder = tmp_path_factory.mktemp("saved_models")
    section = Export(folder=str(folder), version="next")
    expected = served.ensemble.predict(rows)
    return export(served, name="filled", section=section, rows=rows, expected=expected, config=config), one.task


def test_questions_mask_words_and_equal_the_trained_model(exported):
    folder, _ = exported
    report = json.loads((folder / "assets.extra/parity.json").read_text())
    assert report["rows"] == 4 and report["token_agreement"] == 1.0
    card = json.loads((folder / "assets.extra/card.json").read_text())
    assert {"text": "the man went [MASK] the store ."} in card["examples"]


@pytest.mark.parametrize("place", ["version", "model"])
def test_an_export_is_a_pretrained_encoder(exported, place):
    folder, task = exported
    weights = pretrained.open(folder if place == "version" else folder.parent)
    sizes = weights.sizes()
    assert (weights.model, weights.preprocessor) == ("modern_bert", "wordpiece")
    assert sizes["vocabulary_size"] == len(WORDS)
    read = weights.tokenization()
    assert read["lower_case"] is True and read["vocabulary"].read_text().split() == WORDS
    other = MaskedLm(model=ModernBert(**sizes))
    report = weights.load_into(other.model, other.optional_layers)
    assert report.missing == [] and report.unused == []
    for one, its in zip(task.weights, other.weights, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(its), one.path)
    report = weights.load_into(ModernBert(**sizes))
    assert report.unused and all(name.startswith("masked_lm_head/") for name in report.unused)
