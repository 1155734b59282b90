"""Windows of contexts: the start and the end of the answer in each window."""

import numpy as np
import pytest

from tfattn.data.examples.answer_targets import Answers
from tfattn.data.examples.answer_windows import AnswerWindows
from tfattn.data.examples.encoding import serialized
from tfattn.data.examples.examples import Randomness
from tfattn.formats.source import Row
from tfattn.preprocessing.vocabulary import SPECIAL_TOKENS
from tfattn.preprocessing.wordpiece import WordPiece

DRAWING = Randomness(np.arange(9, dtype=np.uint64) << 40, is_training=True)
VOCABULARY = [*SPECIAL_TOKENS, "a", "b", "c", "d", "e", "##e", "who", "海"]


@pytest.fixture
def windows(tmp_path):
    """Makes the windows of questions, each as its row, its pieces and those of the answer."""
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in VOCABULARY))
    targets, made = Answers(), AnswerWindows()

    def windows(*rows, **options):
        options = {"max_length": 9, "doc_stride": 2, "max_query_length": 1, **options}
        preprocessor = WordPiece(vocabulary=str(path), fields=("question", "context"), **options)
        made.require(preprocessor)
        preprocessor.fit([])
        rows = [Row({"question": "who", "context": context, "answers": answers}, "x:1") for context, answers in rows]
        features = made.features(rows[0], preprocessor, targets)
        found = []
        examples = list(made.of(rows, preprocessor, targets, DRAWING))
        assert len({values["unique_ids"] for _, values in examples}) == len(examples)
        for row, values in examples:
            assert values["is_impossible"] == (not rows[row].fields["answers"])
            assert all(serialized([values], features))
            first, last = values["start_positions"], values["end_positions"]
            tokens = [VOCABULARY[token] for token in values["input_ids"]]
            found.append((row, " ".join(tokens), " ".join(tokens[first : last + 1]) if first >= 0 else None))
        return found

    return windows


def answer(text, start):
    return [{"text": text, "start": start}]


def test_each_window_that_has_the_whole_answer_has_its_position(windows):
    assert windows(("a b c d ee a", answer("c d ee", 4)), ("b", [])) == [
        (0, "[CLS] who [SEP] a b c d e [SEP]", "[CLS]"),
        (0, "[CLS] who [SEP] c d e ##e a [SEP]", "c d e ##e"),
        (1, "[CLS] who [SEP] b [SEP]", "[CLS]"),
    ]


def test_an_answer_within_a_word_is_its_pieces(windows):
    assert windows(("a dee b", answer("ee", 3)))[0][2] == "##e ##e"
    assert windows(("a ee 海b", answer("海", 5)))[0][2] == "海"
    assert windows(("a ee b", answer("e", 3)))[0][2] == "##e"


def test_an_answer_that_does_not_occur_has_ignored_positions(windows):
    found = windows(("a b c d e a", answer("x", 0)), ("\u200b a", answer("\u200b", 0)))
    assert [taught for *_, taught in found] == [None] * len(found)
