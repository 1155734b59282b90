"""WordPiece vocabularies: validation of files, and reproducible training."""

import pytest
import tensorflow as tf

from tfattn.errors import DataError
from tfattn.preprocessing.padding import padded
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS, Vocabulary
from tfattn.preprocessing.wordpiece import WordPiece

TEXTS = ["The mixer rattles.", "The sorter rattles loudly!", "Mixers and sorters rattle; belts do not.", "Café, CAFÉ"]


def learn(texts: list[str], *, size: int = 60, lower_case: bool = True) -> tuple[str, ...]:
    return Vocabulary.train(texts, size=size, lower_case=lower_case, strip_accents=lower_case).tokens


def test_the_special_tokens_come_first():
    assert learn(TEXTS)[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def test_frequent_words_are_learned_whole_and_characters_are_kept():
    tokens = learn(TEXTS, size=200)

    assert {"rattle", "the", "cafe", "!", "b", "##t"} <= set(tokens)
    assert "belts" not in tokens


def test_the_same_texts_in_any_order_give_the_same_vocabulary():
    texts = [f"{first}{second}{third}" for first in "abcdefg" for second in "hijklmn" for third in "opqrst"]

    learned = {learn(texts[turn:] + texts[:turn], size=150) for turn in range(10)}

    assert len(learned) == 1


def test_case_is_kept_on_request():
    assert "CAFÉ" not in learn(TEXTS * 2, size=200)
    assert "CAFÉ" in learn(TEXTS * 2, size=200, lower_case=False)


@pytest.mark.parametrize("size", [6, 10, 30, 40])
def test_the_vocabulary_size_is_a_maximum(size):
    tokens = learn(TEXTS, size=size)

    assert len(tokens) <= size
    assert "t" in tokens or size == 6


def test_tokens_can_be_read_back(tmp_path):
    tokens = learn(["中文 text 한국어\u2028 x\x85y"] * 2)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")

    assert Vocabulary.read(tmp_path / "vocab.txt").tokens == tokens


def test_too_long_words_are_ignored_in_training():
    assert not any("x" in token for token in learn(["x" * 101, "a"]))
    assert all(len(token.encode()) <= 258 for token in learn(["\U0001f600" * 100] * 9, size=500))


@pytest.mark.parametrize("texts", [[], ["", " \u200b"]])
def test_training_without_words_is_refused(texts):
    with pytest.raises(DataError, match="no words to learn a vocabulary from"):
        learn(texts)


def test_capitals_are_detected():
    assert not Vocabulary((*SPECIAL_TOKENS, "<S>", "a", "##b")).has_capitals
    assert Vocabulary((*SPECIAL_TOKENS, "The")).has_capitals


def content(*tokens: str) -> bytes:
    return "".join(f"{token}\n" for token in tokens).encode()


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"", "lacks special tokens: expected [PAD] [UNK] [CLS] [SEP], received 0 tokens without [PAD] [UNK]"),
        (content("[PAD]", "[UNK]", "[CLS]", "a"), "received 4 tokens without [SEP]"),
        (
            content(*SPECIAL_TOKENS, "a", "b", "a"),
            "vocab.txt:8: a token occurs twice in the vocabulary",
        ),
        (content(*SPECIAL_TOKENS, "", "b"), "vocab.txt:6: a line of the vocabulary is not a token"),
        (content(*SPECIAL_TOKENS, "a" * 257), "received 257 bytes"),
        (
            content(*SPECIAL_TOKENS) + "é\n".encode("latin-1"),
            "vocab.txt:6: the vocabulary is not UTF-8: received byte 0x",
        ),
        (None, "cannot read the vocabulary (No such file or directory): expected a vocab.txt"),
    ],
)
def test_an_invalid_vocabulary_is_refused(tmp_path, written, message):
    path = tmp_path / "vocab.txt"
    if written is not None:
        path.write_bytes(written)

    with pytest.raises(DataError) as raised:
        Vocabulary.read(path)

    assert message in str(raised.value)


def test_the_padding_token_may_have_any_id(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(content("[UNK]", "a", "[CLS]", "[SEP]", "[PAD]", "[MASK]"))
    words = WordPiece(vocabulary=str(tmp_path / "vocab.txt"), max_length=8)
    words.fit([])
    batch = padded(words({"text": tf.constant(["a a", "a"])}))
    # What is padding, the mask says; the id there is 0, whichever token has it.
    assert batch["token_ids"].numpy().tolist() == [[2, 1, 1, 3], [2, 1, 3, 0]]
    assert batch["padding_mask"].numpy().tolist() == [[True] * 4, [True] * 3 + [False]]


def test_lines_end_at_line_feeds_with_or_without_carriage_returns(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n\u2028".encode())

    assert Vocabulary.read(tmp_path / "vocab.txt").tokens == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2028")
