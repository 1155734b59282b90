"""Multiple-choice records: a sequence per choice, for any number of choices."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.choice_pairs import ChoicePairs, DocumentPairs
from tfattn.data.examples.choice_targets import Choices
from tfattn.data.examples.encoding import lengths_of, serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.grade_targets import Grades
from tfattn.data.examples.parsing import parse
from tfattn.errors import ConfigError
from tfattn.formats.source import Row
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

NOTHING_DRAWN = Randomness(np.zeros(0, np.uint64), is_training=True)
VOCABULARY = [*SPECIAL_TOKENS, *"abcd"]


@pytest.fixture
def tokenizer(tmp_path):
    def tokenizer(fields=("context", "choices"), **options):
        path = tmp_path / "vocab.txt"
        path.write_text("".join(f"{token}\n" for token in VOCABULARY))
        made = WordPiece(vocabulary=str(path), max_length=10, fields=fields, **options)
        made.fit([])
        return made

    return tokenizer


def test_rows_with_any_number_of_choices_round_trip(tokenizer):
    rows = [
        Row({"context": "a", "choices": ["b", "c d"], "label": "1"}, "x:1"),
        Row({"context": "d d", "choices": ["a", "b", "c"], "label": "0"}, "x:2"),
    ]
    examples, targets, preprocessor = ChoicePairs(), Choices(), tokenizer()
    features = examples.features(rows[1], preprocessor, targets)
    made = [values for _, values in examples.of(rows, preprocessor, targets, NOTHING_DRAWN)]
    lengths = lengths_of(made, features)
    assert lengths.tolist() == [[[2, 6]], [[3, 6]]]
    batch = parse(tf.constant(serialized(made, features)), features, tf.constant(lengths))
    tokens = np.array(VOCABULARY)[batch["token_ids"].numpy()]
    assert " ".join(tokens[0, 1]) == "[CLS] a [SEP] c d [SEP]" and " ".join(tokens[0, 0]).startswith("[CLS] a [SEP] b")
    assert batch["segment_ids"].numpy()[0, 1].tolist() == [0, 0, 0, 1, 1, 1]
    assert batch["padding_mask"].numpy().sum(axis=-1).tolist() == [[5, 6, 0], [6, 6, 6]]
    assert batch["label_ids"].numpy().tolist() == [1, 0]


def test_documents_are_padded_with_their_grades(tokenizer):
    rows = [
        Row({"query": "a", "documents": ["b", "c d"], "grades": [0, 2]}, "x:1"),
        Row({"query": "d d", "documents": ["a"], "grades": ["0.5"]}, "x:2"),
    ]
    examples, targets, preprocessor = DocumentPairs(), Grades(), tokenizer(fields=("query", "documents"))
    features = examples.features(rows[0], preprocessor, targets)
    made = [values for _, values in examples.of(rows, preprocessor, targets, NOTHING_DRAWN)]
    lengths = lengths_of(made, features)
    batch = parse(
        tf.constant(serialized(made, features)), features, tf.constant(lengths), tf.constant([[3, 1], [3, 8]])
    )
    assert batch["grades"].numpy().tolist() == [[0, 2, 0], [0.5, 0, 0]]
    assert batch["grade_mask"].numpy().tolist() == [[True, True, False], [True, False, False]]
    assert batch["token_ids"].shape == (2, 3, 8)
    assert batch["padding_mask"].numpy().sum(axis=-1).tolist() == [[5, 6, 0], [6, 0, 0]]
    with pytest.raises(ConfigError, match=r"a query is read with each of its documents: expected \[query, documents\]"):
        DocumentPairs().require(tokenizer())


def test_a_preprocessor_without_choices_is_refused(tokenizer):
    ChoicePairs().require(tokenizer())
    with pytest.raises(ConfigError, match=r"expected \[context, choices\], received text"):
        ChoicePairs().require(tokenizer(fields=("text",)))
    with pytest.raises(ConfigError, match="in one sequence each, and not in windows"):
        ChoicePairs().require(tokenizer(doc_stride=2))
