"""Character and word tokens: round trip, and unknown tokens."""

import pytest
import tensorflow as tf

from tests.contracts.preprocessor import check_preprocessor
from tfattn.errors import DataError
from tfattn.preprocessing.whole_tokens import END, UNKNOWN, CharacterTokens, WordTokens

KINDS = [CharacterTokens, WordTokens]
ROWS = [{"text": "to be or not to be"}, {"text": "that is the question , to <unk>"}]


def fitted(kind, rows=ROWS, **options):
    tokenizer = kind(**options)
    tokenizer.fit(rows)
    return tokenizer


def names(tokenizer, text):
    return [tokenizer.tokens[number] for number in tokenizer.split(tf.constant([text])).to_list()[0]]


@pytest.mark.parametrize("kind", KINDS)
def test_preprocessor_contract(kind, tmp_path):
    check_preprocessor(fitted(kind, max_length=20), kind(), ROWS, folder=tmp_path)


def test_characters_of_training_texts_are_tokens_and_others_unknown():
    tokenizer = fitted(CharacterTokens, [{"text": "né\n"}])
    assert sorted(tokenizer.tokens) == sorted([UNKNOWN, END, "n", "é", "\n"])
    assert names(tokenizer, "énx\n") == ["é", "n", UNKNOWN, "\n"]


def test_words_are_split_at_blanks_and_line_ends():
    assert names(fitted(WordTokens), " to  be\n , why") == ["to", "be", ",", UNKNOWN]


@pytest.mark.parametrize("kind", KINDS)
def test_texts_round_trip(kind):
    tokenizer = fitted(kind)
    texts = [row["text"] for row in ROWS] + [""]
    ids = tokenizer.split(tf.constant(texts))
    assert [text.decode() for text in tokenizer.detokenize(ids).numpy()] == texts
    ended = tf.concat([ids, tf.fill([len(texts), 1], tokenizer.end_id)], axis=1)
    assert [text.decode() for text in tokenizer.detokenize(ended).numpy()] == texts


def test_token_bytes_join_to_the_text():
    for kind, text in ((CharacterTokens, b"to be or not"), (WordTokens, b" to be or not")):
        tokenizer = fitted(kind)
        (ids,) = tokenizer.encode([text.decode()])
        assert b"".join(tokenizer.token_bytes[number] for number in ids) == text


def test_the_most_frequent_words_are_kept():
    tokenizer = fitted(WordTokens, vocabulary_size=4)
    assert tokenizer.tokens == [UNKNOWN, END, "to", "be"]
    found = tokenizer.unknown({"text": tf.constant(["to be or not <unk>"])})["text"]
    assert (found.counted, found.unknown, set(found.values)) == (5, 2, {"or", "not"})


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_token_is_not_parsed_in_texts(kind):
    tokenizer = fitted(kind, [{"text": "a <eos> <eos> <eos>"}])
    assert tokenizer.end_id not in tokenizer.split(tf.constant(["a <eos> b"])).to_list()[0]


@pytest.mark.parametrize("kind", KINDS)
def test_fitting_without_text_is_refused(kind):
    with pytest.raises(DataError, match="there is no text to list the tokens of"):
        fitted(kind, [{"text": ""}])
