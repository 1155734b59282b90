"""Labels of tokens: at the first tokens of words and of their punctuation parts."""

import numpy as np
import pytest

from tfattn.data.examples.encoding import serialized
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.tag_targets import Tags
from tfattn.data.examples.tagged_tokens import TaggedTokens
from tfattn.formats.source import Row
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

NOTHING_DRAWN = Randomness(np.zeros(0, np.uint64), is_training=True)
VOCABULARY = [*SPECIAL_TOKENS, "u", ".", "n", "hel", "##sin", "##ki", "in", "é", "海"]


@pytest.fixture
def examples(tmp_path):
    """Makes the examples of rows, each as a list of (token, label, whether it is a word of the file)."""
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in VOCABULARY))
    targets, made = Tags(labels=["LOC", "ORG"]), TaggedTokens()

    def examples(*rows, **options):
        preprocessor = WordPiece(vocabulary=str(path), **options)
        made.require(preprocessor)
        preprocessor.fit([])
        rows = [Row({"text": text, "tags": tags.split()}, "x:1") for text, tags in rows]
        features = made.features(rows[0], preprocessor, targets)
        found = list(made.of(rows, preprocessor, targets, NOTHING_DRAWN))
        assert all(serialized([example.values for example in found], features))
        assert features["label_ids"].role == features["is_tagged"].role == "target"
        names = ("input_ids", "label_ids", "is_tagged")
        return [
            (one.row, [(VOCABULARY[token], *rest) for token, *rest in zip(*map(one.values.get, names), strict=True)])
            for one in found
        ]

    return examples


CLS, SEP = ("[CLS]", -1, 0), ("[SEP]", -1, 0)


def test_the_first_piece_of_a_word_has_its_label(examples):
    (found,) = examples(("Helsinki in 海", "B-LOC O B-ORG"))
    pieces = [("hel", 1, 1), ("##sin", -1, 0), ("##ki", -1, 0), ("in", 0, 1), ("海", 3, 1)]
    assert found == (0, [CLS, *pieces, SEP])


def test_further_parts_of_a_word_continue_its_entity_with_weight_0(examples):
    found = examples(("U.N. in", "B-ORG O"), ("in u.n", "O O"))
    united = [("u", 3, 1), (".", 4, 0), ("n", 4, 0), (".", 4, 0)]
    assert found[0] == (0, [CLS, *united, ("in", 0, 1), SEP])
    assert found[1] == (1, [CLS, ("in", 0, 1), ("u", 0, 1), (".", 0, 0), ("n", 0, 0), SEP])


def test_a_word_has_the_tag_of_its_first_character(examples):
    (found,) = examples(("海in海u.n", "B-LOC O O B-ORG I-ORG I-ORG O"))
    assert found == (0, [CLS, ("海", 1, 1), ("in", 0, 1), ("海", 3, 1), ("u", 4, 1), (".", 4, 1), ("n", 0, 1), SEP])


def test_windows_share_the_labels_of_their_row(examples):
    found = examples(("U.N. in Helsinki", "B-ORG O B-LOC"), ("in", "O"), max_length=5, doc_stride=2)
    assert found == [
        (0, [CLS, ("u", 3, 1), (".", 4, 0), ("n", 4, 0), SEP]),
        (0, [CLS, ("n", 4, 0), (".", 4, 0), ("in", 0, 1), SEP]),
        (0, [CLS, ("in", 0, 1), ("hel", 1, 1), ("##sin", -1, 0), SEP]),
        (0, [CLS, ("##sin", -1, 0), ("##ki", -1, 0), SEP]),
        (1, [CLS, ("in", 0, 1), SEP]),
    ]


def test_a_word_without_tokens_has_no_label(examples):
    assert examples(("\u200b in", "B-LOC O")) == [(0, [CLS, ("in", 0, 1), SEP])]
    assert examples(("\u200b", "B-LOC")) == [(0, [CLS, SEP])]
