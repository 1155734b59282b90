"""Sentence pairs with masked tokens: layout, targets, and dependence only on seeds."""

import numpy as np
import pytest

from tests.data.small_documents import WORDS
from tfattn.data.examples.encoding import lengths_of
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.sentence_pairs import SentencePairs
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, DataError
from tfattn.formats.source import Row
from tfattn.preprocessing.wordpiece import WordPiece

MAX_LENGTH = 32


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##ing", "go"]
    path.write_text("\n".join(tokens) + "\n")
    tokenizer = WordPiece(vocabulary=str(path), max_length=MAX_LENGTH)
    tokenizer.fit([])
    return tokenizer


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1)
    texts = [
        "\n".join(" ".join(random.choice(WORDS, random.integers(2, 9))) for _ in range(random.integers(2, 12)))
        for _ in range(60)
    ]
    return [Row({"text": text}, f"a.txt:{number}") for number, text in enumerate(texts)]


def made(rows, tokenizer, *, is_training=True, seed=0, **options):
    examples = SentencePairs(**options)
    examples.require(tokenizer)
    seeds = np.arange(len(rows), dtype=np.uint64) + np.uint64(1000 * seed)
    return list(examples.of(rows, tokenizer, Target(), Randomness(seeds, is_training)))


@pytest.fixture(scope="module")
def examples(rows, tokenizer):
    return made(rows, tokenizer, dupe_factor=20)


def whole(values):
    """The tokens as they were before some were hidden."""
    ids = values["input_ids"].copy()
    ids[values["masked_lm_positions"]] = values["masked_lm_ids"]
    return ids


def test_special_tokens_separate_texts_and_are_never_masked(examples, tokenizer):
    start, end, mask = (tokenizer.tokens.index(token) for token in ("[CLS]", "[SEP]", "[MASK]"))
    for _, values in examples:
        ids, segments = whole(values), values["segment_ids"]
        assert len(ids) == len(segments) <= MAX_LENGTH
        assert ids[0] == start and list(ids).count(start) == 1
        [middle, last] = np.flatnonzero(ids == end)
        assert last == len(ids) - 1 and 1 < middle < last - 1
        np.testing.assert_array_equal(segments, np.arange(len(ids)) > middle)
        assert mask not in ids
        assert not {0, middle, last} & set(values["masked_lm_positions"])


def test_the_masked_fraction_is_the_probability(examples):
    hidden = sum(len(values["masked_lm_ids"]) for _, values in examples)
    expected = sum(max(1, round(0.15 * len(values["input_ids"]))) for _, values in examples)
    assert hidden == expected
    for _, values in examples:
        assert (values["masked_lm_weights"] == 1).all()
        assert (np.diff(values["masked_lm_positions"]) > 0).all()


def test_masking_uses_80_percent_masks_10_random_10_kept(examples, tokenizer):
    mask = tokenizer.tokens.index("[MASK]")
    shown = np.concatenate([values["input_ids"][values["masked_lm_positions"]] for _, values in examples])
    told = np.concatenate([values["masked_lm_ids"] for _, values in examples])
    counts = np.array([(shown == mask).sum(), (shown == told).sum(), ((shown != mask) & (shown != told)).sum()])
    expected = np.array([0.8, 0.1, 0.1])
    error = np.sqrt(expected * (1 - expected) / len(told))
    assert len(told) > 5000
    assert (abs(counts / len(told) - expected) < 4 * error + 0.1 / len(WORDS)).all()


def test_half_of_the_pairs_are_not_consecutive(examples):
    labels = [int(values["next_sentence_labels"]) for _, values in examples]
    assert set(labels) == {0, 1} and abs(np.mean(labels) - 0.5) < 4 * 0.5 / np.sqrt(len(labels))


def test_consecutive_texts_share_a_document_and_random_texts_do_not(examples, rows, tokenizer):
    of_row = [" ".join(row.fields["text"].split()) for row in rows]
    for place, values in examples:
        tokens = np.array(tokenizer.tokens)[whole(values)]
        first, second = (
            " ".join(tokens[(values["segment_ids"] == side) & (tokens != "[CLS]") & (tokens != "[SEP]")])
            for side in (0, 1)
        )
        assert first in of_row[place]
        if values["next_sentence_labels"]:
            assert any(second in text for text in of_row[:place] + of_row[place + 1 :])
        else:
            assert second in of_row[place]


def test_examples_depend_only_on_seeds(rows, tokenizer):
    assert same(made(rows, tokenizer), made(rows, tokenizer))
    assert not same(made(rows, tokenizer), made(rows, tokenizer, seed=1))


def same(some, others):
    return len(some) == len(others) and all(
        one.row == other.row and all(np.array_equal(one.values[name], other.values[name]) for name in one.values)
        for one, other in zip(some, others, strict=True)
    )


def test_evaluation_examples_are_masked_once(rows, tokenizer):
    static, dynamic = (
        made(rows, tokenizer, is_training=False, masking=masking, dupe_factor=3) for masking in ("static", "dynamic")
    )
    assert same(static, dynamic) and all(len(values["masked_lm_ids"]) for _, values in static)
    assert len(made(rows, tokenizer, dupe_factor=3)) > 2 * len(static)


def test_dynamic_records_are_masked_when_read(rows, tokenizer):
    examples = SentencePairs(masking="dynamic")
    assert all(len(values["masked_lm_ids"]) == 0 for _, values in made(rows, tokenizer, masking="dynamic"))
    assert [transform.mask_id for transform in examples.transforms(tokenizer)] == [4]
    assert SentencePairs().transforms(tokenizer) == []


def test_whole_words_are_masked_together(tokenizer):
    texts = ["\n".join(["going going w1 w2 going w3"] * 4)] * 3
    rows = [Row({"text": text}, "a.txt:1") for text in texts]
    go, ing = (tokenizer.tokens.index(token) for token in ("go", "##ing"))
    seen = 0
    for _, values in made(rows, tokenizer, do_whole_word_mask=True, dupe_factor=30, masked_lm_prob=0.3):
        ids, hidden = whole(values), set(values["masked_lm_positions"].tolist())
        for place in np.flatnonzero(ids[1:] == ing) + 1:
            if ids[place - 1] == go:
                assert (place in hidden) == (place - 1 in hidden)
                seen += place in hidden
    assert seen > 50


def test_records_have_the_length_of_their_tokens(examples, rows, tokenizer):
    features = SentencePairs().features(rows[0], tokenizer, Target())
    some = [values for _, values in examples[:20]]
    assert all(features.keys() == values.keys() for values in some)
    assert lengths_of(some, features).tolist() == [[len(values["input_ids"])] for values in some]


def test_unknown_words_are_counted_once_each(tokenizer):
    rows = [Row({"text": "w1 xyz\nw2"}, "a.txt:1"), Row({"text": "w3 xyz w4\nw5"}, "a.txt:4")]
    found = SentencePairs().unknown(rows, tokenizer)["text"]
    assert (found.counted, found.unknown, dict(found.values)) == (7, 2, {"xyz": 2})
    assert SentencePairs().unknown(rows[:0] + [Row({"text": "w1"}, "")], tokenizer)["text"].unknown == 0


def test_lines_without_words_and_single_sentences_are_excluded(tokenizer):
    rows = [
        Row({"text": "w1 w2\n\u200b\nw3"}, "a:1"),
        Row({"text": "w4"}, "a:5"),
        Row({"text": "\u200b\n\u200b"}, "a:7"),
    ]
    found = made(rows, tokenizer)
    assert found and {row for row, _ in found} == {0}


def test_a_vocabulary_without_a_mask_token_is_refused(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"]))
    tokenizer = WordPiece(vocabulary=str(path), max_length=8)
    tokenizer.fit([])
    with pytest.raises(DataError, match=r"the vocabulary has no mask: expected a token \[MASK\]"):
        SentencePairs().features(Row({"text": "a"}, "a:1"), tokenizer, Target())


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (WordPiece(max_length=4), "there is no room for two texts: expected at least 5"),
        (
            WordPiece(fields=("text_a", "text_b")),
            "split into word pieces: expected wordpiece or pretrained_tokenizer, of one field",
        ),
        (
            WordPiece(max_length=32, doc_stride=8),
            "split into word pieces: expected wordpiece or pretrained_tokenizer, of one field",
        ),
    ],
)
def test_unsuitable_preprocessing_is_refused(tokenizer, message):
    with pytest.raises(ConfigError, match=message):
        SentencePairs().require(tokenizer)
