"""A row of several texts is read as as many rows of one, and none where a text is empty."""

import pytest
import tensorflow as tf

from tfattn.preprocessing.several_texts import stack_fields
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

ROWS = [
    {"context": "a b", "choices": ["c", "", "d c"]},
    {"context": "", "choices": ["a", "b"]},
    {"context": "a " * 20, "choices": ["b c " * 20]},
]


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in [*SPECIAL_TOKENS, *"abcd"]))
    made = WordPiece(vocabulary=str(path), max_length=10, fields=("context", "choices"))
    made.fit([])
    return made


def test_each_text_is_read_with_the_others_of_its_row(tokenizer):
    features = tokenizer(stack_fields(ROWS, tokenizer.fields))
    for name, sequences in features.items():
        assert sequences.shape.as_list() == [3, None, None]
        for row, lists in zip(ROWS, sequences.to_list(), strict=True):
            for place, found in enumerate(lists):
                text = row["choices"][place] if place < len(row["choices"]) else ""
                alone = {"context": tf.constant([row["context"]]), "choices": tf.constant([text])}
                assert found == (tokenizer(alone)[name].to_list()[0] if text else [])


def test_a_row_is_truncated_if_any_sequence_is(tokenizer):
    assert tokenizer.truncated(stack_fields(ROWS, tokenizer.fields)).numpy().tolist() == [False, False, True]


def test_it_is_the_same_in_a_graph_that_knows_no_shape(tokenizer):
    specs = {"context": tf.TensorSpec([None], tf.string), "choices": tf.TensorSpec([None, None], tf.string)}
    graph = tf.function(lambda fields: tokenizer(fields)["token_ids"], input_signature=[specs], autograph=False)
    fields = stack_fields(ROWS, tokenizer.fields)
    assert graph(fields).to_list() == tokenizer(fields)["token_ids"].to_list()
    nothing = {"context": tf.constant(["a"]), "choices": tf.zeros([1, 0], tf.string)}
    assert graph(nothing).to_list() == [[]]


def test_a_vocabulary_is_learnt_from_all_of_them():
    tokenizer = WordPiece(vocabulary="train", vocabulary_size=40, fields=("context", "choices"))
    tokenizer.fit([{"context": "one", "choices": ["two", "three"]}] * 3)
    assert {"two", "three"} <= set(tokenizer.tokens)
    unknown = tokenizer.unknown(stack_fields([{"context": "one", "choices": ["two", "ж", ""]}], tokenizer.fields))
    assert (unknown["choices"].counted, unknown["choices"].unknown) == (2, 1)
