"""The export of a translator: translations are independent of the batch, and cut texts are flagged."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.translation import Translator
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.models.transformer import Transformer
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.tasks.decoding import Decoding
from tfattn.tasks.translation import Translation
from tfattn.trained.ensemble import TrainedEnsemble

TEXTS = ["red green", "blue", "green green red blue red green", "red"]
LONGEST = 8


def task(model_of, **decoding) -> Translation:
    """A model with random weights, which does not end soon."""
    text = SentencePiece(vocabulary_size=12, model_type="word", max_length=LONGEST)
    text.fit([{"source": "red green blue", "target": "rot gelb blau grau"}])
    model = model_of(**text.sizes, hidden_dim=8, share_embeddings="all", max_sequence_length=LONGEST)
    # Not by a seed for all: TensorFlow would forget the tokenizers of other tests.
    random = np.random.default_rng(5)
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(random.normal(scale=0.7, size=weight.shape))
    return Translation(model=model, preprocessor=text, decoding=Decoding(num_beams=3, max_length=6, **decoding))


def transformer(**sizes):
    return Transformer(num_layers=2, num_heads=2, intermediate_dim=16, **sizes)


def translator(task) -> Translator:
    return Translator(TrainedEnsemble([(task._preprocessor, task)]))


@pytest.fixture(scope="module")
def ask():
    signatures = translator(task(transformer, num_results=2)).signatures()

    def ask(signature, texts):
        return {name: x.numpy() for name, x in signatures[signature](tf.constant(texts, tf.string)).items()}

    return ask


def test_outputs_have_names_and_types(ask):
    answers = ask("serving_default", TEXTS)
    assert {name: value.dtype for name, value in answers.items()} == {
        "text": object,
        "score": np.float32,
        "length": np.int32,
        "truncated": bool,
    }
    words = {word for text in answers["text"] for word in text.decode().split()}
    assert words <= {"rot", "gelb", "blau", "grau", "red", "green", "blue"}
    assert len(set(answers["text"])) > 1 and not answers["truncated"].any()


def test_the_best_translation_is_the_default(ask):
    several, best = ask("n_best", TEXTS), ask("serving_default", TEXTS)
    assert several["text"].shape == (len(TEXTS), 2)
    assert np.all(np.diff(several["score"]) <= 0)
    assert several["text"][:, 0].tolist() == best["text"].tolist()
    assert np.all(several["text"][:, 0] != several["text"][:, 1])


@pytest.mark.parametrize("signature", ["serving_default", "n_best", "alignment"])
def test_predictions_do_not_depend_on_the_batch(ask, signature):
    together = ask(signature, TEXTS)
    for row, text in enumerate(TEXTS):
        assert np.array_equal(ask(signature, [text])["text"][0], together["text"][row])


def test_no_rows_give_no_predictions_and_empty_text_gives_one(ask):
    assert all(len(value) == 0 for value in ask("serving_default", []).values())
    for nothing in ("", "  ", "\u200b"):
        answers = ask("serving_default", [nothing, "red"])
        assert answers["text"][0] == b"" and answers["text"][1] == ask("serving_default", ["red"])["text"][0]
        assert (answers["length"][0], answers["score"][0], answers["truncated"][0]) == (0, 0, False)
    assert ask("n_best", [""])["text"].tolist() == [[b"", b""]]
    assert ask("alignment", [""])["tokens"].shape == (1, 0)


def test_an_alignment_has_token_names_and_rows_that_sum_to_1(ask):
    answers = ask("alignment", TEXTS)
    assert [token.decode() for token in answers["source_tokens"][0] if token] == ["▁red", "▁green", "</s>"]
    assert answers["alignment"].shape == (*answers["tokens"].shape, answers["source_tokens"].shape[1])
    written = answers["tokens"] != b""
    np.testing.assert_allclose(answers["alignment"].sum(axis=-1)[written], 1, atol=1e-5)
    padded = answers["source_tokens"] == b""
    assert not answers["alignment"][padded[:, None, :] & written[:, :, None]].any()


def test_too_long_texts_are_cut_and_flagged_or_refused(ask):
    texts = ["red", "red " * LONGEST]
    answers = ask("serving_default", texts)
    assert answers["truncated"].tolist() == [False, True]
    assert answers["text"][1] == ask("serving_default", ["red " * (LONGEST - 1)])["text"][0]
    strict = translator(task(transformer, too_long="refuse")).signatures()["serving_default"]
    assert strict(tf.constant(["red"]))["text"].shape == (1,)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"the text in row 2 has more than {LONGEST} tokens"):
        strict(tf.constant(texts))


def test_a_model_without_attention_has_no_alignment():
    plain = task(lambda **sizes: RnnEncoderDecoder(wiring="plain", embedding_dim=8, **sizes))
    assert sorted(translator(plain).signatures()) == ["n_best", "serving_default"]


def test_another_precision_than_float32_is_refused():
    half = task(transformer)
    half.dtype_policy = "bfloat16"
    with pytest.raises(ExportError, match="expected float32, received bfloat16"):
        translator(half)
