"""Packed texts: every piece of text once, nearly full sequences, numbered texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.examples.test_sentence_pairs import same, whole
from tests.data.small_documents import WORDS
from tfattn.data.examples.examples import Randomness
from tfattn.data.examples.packed_texts import SPECIALS, PackedTexts, packed
from tfattn.data.examples.targets import Target
from tfattn.formats.source import Row
from tfattn.preprocessing.wordpiece import WordPiece

MAX_LENGTH = 24


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    tokenizer = WordPiece(vocabulary=str(path), max_length=MAX_LENGTH)
    tokenizer.fit([])
    return tokenizer


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(2)
    return [
        Row({"text": " ".join(random.choice(WORDS, random.integers(1, 60)))}, f"a.txt:{number}") for number in range(80)
    ]


def made(rows, tokenizer, *, is_training=False, **options):
    seeds = np.arange(len(rows), dtype=np.uint64)
    return list(PackedTexts(**options).of(rows, tokenizer, Target(), Randomness(seeds, is_training)))


def texts(values, tokenizer):
    """The texts of a sequence, as words."""
    ids = whole(values)
    for number in range(1, values["sequence_ids"].max() + 1):
        tokens = [tokenizer.tokens[one] for one in ids[values["sequence_ids"] == number]]
        assert tokens[0] == "[CLS]" and tokens[-1] == "[SEP]"
        yield " ".join(tokens[1:-1])


def test_every_word_occurs_once_and_texts_stay_apart(rows, tokenizer):
    found = [text for _, values in made(rows, tokenizer) for text in texts(values, tokenizer)]
    assert sorted(" ".join(found).split()) == sorted(" ".join(row.fields["text"] for row in rows).split())
    assert all(any(text in row.fields["text"] for row in rows) for text in found)


def test_texts_are_adjacent_and_are_numbered_from_one(rows, tokenizer):
    for _, values in made(rows, tokenizer):
        numbers = values["sequence_ids"]
        assert numbers[0] == 1 and set(np.diff(numbers)) <= {0, 1}
        assert len(numbers) == len(values["input_ids"]) <= MAX_LENGTH


def test_packing_leaves_little_padding(rows, tokenizer):
    lengths = [len(values["input_ids"]) for _, values in made(rows, tokenizer)]
    alone = [len(values["input_ids"]) for _, values in made(rows, tokenizer, packing=False)]
    assert sum(lengths) == sum(alone)
    assert np.mean(lengths) / MAX_LENGTH > 0.95 > np.mean(alone) / MAX_LENGTH


def test_without_packing_each_text_is_a_sequence(rows, tokenizer):
    examples = PackedTexts(packing=False)
    found = made(rows, tokenizer, packing=False)
    assert {row for row, _ in found} == set(range(len(rows)))
    assert "sequence_ids" not in found[0].values.keys() | examples.features(rows[0], tokenizer, Target()).keys()


def test_training_masks_are_sampled_when_records_are_read(rows, tokenizer):
    assert not any(len(values["masked_lm_ids"]) for _, values in made(rows, tokenizer, is_training=True))
    measuring = made(rows, tokenizer)
    assert same(measuring, made(rows, tokenizer)) and same(measuring, made(rows, tokenizer, masking="static"))
    hidden = sum(len(values["masked_lm_ids"]) for _, values in measuring)
    assert hidden == sum(max(1, round(0.15 * len(values["input_ids"]))) for _, values in measuring)


def test_copies_have_other_masks(rows, tokenizer):
    copies = made(rows, tokenizer, is_training=True, masking="static", dupe_factor=2)
    half = len(copies) // 2
    assert all(
        np.array_equal(whole(one.values), whole(other.values))
        for one, other in zip(copies[:half], copies[half:], strict=True)
    )
    assert not same(copies[:half], copies[half:])


@given(st.lists(st.integers(1, 20), min_size=1, max_size=60))
def test_sequences_have_every_text_once_and_cannot_be_merged(lengths):
    ends = np.cumsum(lengths).tolist()
    texts = [(row, end - length, end) for row, (length, end) in enumerate(zip(lengths, ends, strict=True))]
    sequences = packed(texts, room=22, num_special=SPECIALS)
    assert sorted(text for members in sequences for text in members) == texts
    filled = sorted(sum(end - begin + SPECIALS for _, begin, end in members) for members in sequences)
    assert filled[-1] <= 22
    assert len(filled) < 2 or filled[0] + filled[1] > 22
