"""Lines that tell what [MASK] may stand for."""

import pytest

from tfattn.errors import DataError, RefusedError
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client import masked_texts


class Filler:
    """Fills in two words, and refuses texts of more than twenty characters."""

    trained_on = TrainingFile({"text": "text"})
    numeric, writes_text = frozenset(), False

    def predict(self, rows, *, signature):
        assert signature == "all_masks"
        (row,) = rows
        if len(row["text"]) > 20:
            raise RefusedError(
                "no", received="assertion failed: [the text in row 1 has no [MASK] among its first 5 tokens]"
            )
        masks = row["text"].count("[MASK]")
        words = ["a", "b"]
        filled = [[row["text"].replace("[MASK]", word) for word in words] for _ in range(masks)]
        return [{"masks": masks, "score": [[0.75, 0.125]] * masks, "token_str": [words] * masks, "sequence": filled}]


def lines(text, top_k=5):
    return [" ".join(line.split()) for line in masked_texts.lines(Filler(), text, top_k=top_k)]


def test_a_line_for_each_token():
    assert lines("the [MASK]") == ["0.7500 a the a", "0.1250 b the b"]
    assert lines("the [MASK]", top_k=1) == ["0.7500 a the a"]


def test_each_of_several_masks_has_lines_of_its_own():
    assert lines("[MASK] [MASK]", top_k=1) == ["[MASK] 1 of 2", "0.7500 a a a", "[MASK] 2 of 2", "0.7500 a a a"]


def test_a_text_that_asks_nothing_is_refused_with_a_remedy():
    with pytest.raises(DataError, match=r"the text has no \[MASK\]: expected \[MASK\] in capitals"):
        masked_texts.check("the [mask]")
    masked_texts.check("the [MASK]")


def test_what_the_model_refuses_is_said_in_its_words():
    with pytest.raises(DataError, match=r"has no \[MASK\] among its first 5 tokens$"):
        lines("a text that is so long that [MASK] is not read")
