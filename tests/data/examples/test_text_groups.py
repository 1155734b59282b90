"""Records of groups of texts: a sequence per text, prompts, and hashes of equal texts."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.data.examples.encoding import lengths_of, serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.parsing import parse
from tfattn.data.examples.similarity_targets import Similarities
from tfattn.data.examples.text_groups import TextGroups
from tfattn.errors import ConfigError
from tfattn.formats.source import Row
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

NOTHING_DRAWN = Randomness(np.zeros(0, np.uint64), is_training=True)
VOCABULARY = [*SPECIAL_TOKENS, *"abcdq"]


@pytest.fixture
def tokenizer(tmp_path):
    def tokenizer(**options):
        path = tmp_path / "vocab.txt"
        path.write_text("".join(f"{token}\n" for token in VOCABULARY))
        made = WordPiece(vocabulary=str(path), max_length=6, **options)
        made.fit([])
        return made

    return tokenizer


def batch_of(rows, examples, targets, preprocessor):
    features = examples.features(rows[0], preprocessor, targets)
    made = [values for _, values in examples.of(rows, preprocessor, targets, NOTHING_DRAWN)]
    lengths = lengths_of(made, features)
    return parse(tf.constant(serialized(made, features)), features, tf.constant(lengths))


ROWS = [
    Row({"question": "a", "context": "b c", "target": "1"}, "x:1"),
    Row({"question": "d d", "context": "b c", "target": "3"}, "x:2"),
]


def test_each_text_is_a_sequence_with_the_prompt_of_its_role(tokenizer):
    examples = TextGroups(columns=["question", "context"], prompts={"question": "q "})
    targets = Similarities(scored=True)
    batch = batch_of(ROWS, examples, targets, tokenizer())
    tokens = np.array(VOCABULARY)[batch["token_ids"].numpy()]
    assert " ".join(tokens[0, 0]).startswith("[CLS] q a [SEP]") and " ".join(tokens[0, 1]).startswith("[CLS] b c [SEP]")
    assert batch["padding_mask"].numpy().sum(axis=-1).tolist() == [[4, 4], [5, 4]]
    assert not batch["segment_ids"].numpy().any()
    assert batch["target_values"].numpy().tolist() == [1, 3]
    assert list(examples.inputs(ROWS[0], tokenizer())) == [{"text": "q a"}, {"text": "b c"}]


def test_equal_texts_have_equal_hashes(tokenizer):
    batch = batch_of(ROWS, TextGroups(columns=["question", "context"]), Similarities(), tokenizer())
    hashes = batch["text_hashes"].numpy()
    assert hashes.shape == (2, 2, 2) and hashes.dtype == np.int32
    assert (hashes[0, 1] == hashes[1, 1]).all() and len(np.unique(hashes.reshape(-1, 2), axis=0)) == 3
    assert "target_values" not in batch


def test_truncated_texts_are_found(tokenizer):
    rows = [ROWS[0], Row({"question": "a", "context": "b c d a b c d"}, "x:3")]
    examples = TextGroups(columns=["question", "context"])
    assert examples.truncated(rows, tokenizer()).tolist() == [False, True]
    assert examples.unknown(rows, tokenizer())["text"].unknown == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["a", "a"]}, "a role occurs twice"),
        ({"prompts": {"anchr": "q "}}, "a prompt has no text: expected one of anchor, positive, received anchr"),
    ],
)
def test_roles_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TextGroups(**options)


def test_a_preprocessor_of_pairs_or_windows_is_refused(tokenizer):
    TextGroups().require(tokenizer())
    with pytest.raises(ConfigError, match=r"each text is encoded by itself: expected the default, \[text\]"):
        TextGroups().require(tokenizer(fields=("text_a", "text_b")))
    with pytest.raises(ConfigError, match="a text has one vector, and no windows"):
        TextGroups().require(tokenizer(doc_stride=2))
