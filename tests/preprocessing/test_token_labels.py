"""Labels of tokens, and words of tokens, for all tokenizers."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.features import TARGET_IDS, TOKEN_IDS
from tfattn.preprocessing.byte_bpe import ByteBpe
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.token_labels import source_token_labels, target_token_labels
from tfattn.preprocessing.whole_tokens import CharacterTokens, WordTokens
from tfattn.preprocessing.wordpiece import WordPiece

TEXT = "the pumps leak, 水泵漏水 now"


def words_of(labels, token_ids, mask=None):
    """The words of the one row, each once."""
    mask = token_ids > -1 if mask is None else mask
    told = labels(token_ids, mask)
    numbers, texts = told["words"].numpy()[0], told["word_texts"].numpy()[0]
    firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
    return [texts[place].decode() for place in firsts], told


def test_pieces_are_joined_to_words_and_special_tokens_are_separate():
    tokenizer = WordPiece(vocabulary_size=60)
    tokenizer.fit([{"text": TEXT}] * 3)
    features = padded(tokenizer({"text": tf.constant([TEXT, "now"])}))
    words, told = words_of(source_token_labels(tokenizer), features["token_ids"], features["padding_mask"])
    assert words == ["[CLS]", "the", "pumps", "leak", ",", *"水泵漏水", "now", "[SEP]"]
    assert told["is_special"].numpy()[0].sum() == 2
    real = features["padding_mask"].numpy()
    assert (told["tokens"].numpy()[~real] == b"").all() and not told["words"].numpy()[~real].any()


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (ByteBpe(vocabulary_size=270), ["the", "pumps", "leak,", *"水泵漏水", "now"]),
        (CharacterTokens(), ["the", "pumps", "leak,", *"水泵漏水", "now"]),
        (WordTokens(), ["the", "pumps", "leak,", "水泵漏水", "now"]),
    ],
    ids=["byte_bpe", "characters", "words"],
)
def test_words_of_language_models_end_at_white_space(tokenizer, expected):
    tokenizer.fit([{"text": TEXT}])
    token_ids = tokenizer({"text": tf.constant([TEXT])})[TOKEN_IDS].to_tensor()
    words, told = words_of(source_token_labels(tokenizer), token_ids)
    assert words == expected
    assert not told["is_special"].numpy().any()


def test_both_sides_of_a_translation_are_labelled():
    tokenizer = SentencePiece(vocabulary_size=60)
    tokenizer.fit([{"source": "a pump leaks", "target": "eine Pumpe leckt"}] * 3)
    ids = tokenizer({"source": tf.constant(["a pump leaks"]), "target": tf.constant(["eine Pumpe leckt"])})
    words, told = words_of(source_token_labels(tokenizer), ids[TOKEN_IDS].to_tensor())
    assert words[:-1] == ["a", "pump", "leaks"] and told["is_special"].numpy()[0, -1]
    words, told = words_of(target_token_labels(tokenizer), ids[TARGET_IDS].to_tensor())
    assert words[1:-1] == ["eine", "Pumpe", "leckt"]
    assert told["is_special"].numpy()[0, [0, -1]].all()
