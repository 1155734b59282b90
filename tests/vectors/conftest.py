"""A tiny encoder with random weights, and texts for it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.models.bert import Bert
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.vectors.text_encoder import TextEncoder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "man", "went", "to", "store", "天", "气", "ελλ", "##ας", "🙂", "."]
TEXTS = [
    "the man went to the store .",
    "天气",
    "",
    "Ελλας 🙂 unheard of",
    "the",
    "the man",
    "to the store the man went , and then the man went",
    "the man went to the store , to the store , to the store , to the store .",
]


@pytest.fixture(scope="session")
def bert() -> Bert:
    keras.utils.set_random_seed(5)
    sizes = {"hidden_dim": 8, "num_layers": 3, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
    return Bert(vocabulary_size=len(WORDS), initializer_range=0.5, **sizes)


@pytest.fixture(scope="session")
def words() -> list[str]:
    return WORDS


@pytest.fixture
def texts() -> list[dict[str, str]]:
    return [{"text": text} for text in TEXTS]


@pytest.fixture(scope="session")
def encoder(bert, tmp_path_factory):
    """Makes an encoder of these options."""
    vocabulary = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary.write_text("".join(f"{word}\n" for word in WORDS))

    def encoder(*fields: str, **options) -> TextEncoder:
        tokenizer = WordPiece(vocabulary=str(vocabulary), fields=fields or ("text",), max_length=12)
        tokenizer.fit([])
        return TextEncoder(bert, tokenizer, **options)

    return encoder


@pytest.fixture(scope="session")
def states(bert, encoder):
    """The tokens of a row, and what the embeddings and each layer give for it alone: (4, T, D)."""

    @functools.cache
    def alone(*row: tuple[str, str]) -> tuple[list[str], np.ndarray, np.ndarray]:
        row = dict(row)
        tokenizer = encoder(*row, pooling="none").tokenizer
        features = {
            name: x.to_tensor()
            for name, x in tokenizer({name: tf.constant([text]) for name, text in row.items()}).items()
        }
        outputs = bert(features)
        tokens = [tokenizer.tokens[number] for number in features["token_ids"][0]]
        hidden = np.concatenate([keras.ops.convert_to_numpy(state) for state in outputs["hidden_states"]])
        return tokens, hidden, keras.ops.convert_to_numpy(outputs["pooled_output"][0])

    return lambda row: alone(*row.items())
