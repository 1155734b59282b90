"""Exact match and F1 by the rules of SQuAD's scorers, on cases by hand."""

import pytest

from tfattn.tasks.answer_metrics import exact_match, f1, units_of


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("The Twenty-One", "twentyone"),
        ("a theory an anthem the", "theory anthem"),
        ("  U.S.\tArmy\n", "us army"),
        ("the-man", "theman"),  # punctuation goes first: no article is left
        ("$1,000", "1000"),
        ("“quoted”", "“quoted”"),  # punctuation of ASCII alone
        ("A", ""),
        ("", ""),
    ],
)
def test_words_are_compared_in_lower_case_without_punctuation_and_articles(answer, words):
    assert units_of(answer, "words") == words.split()


@pytest.mark.parametrize(
    ("given", "answers", "exact", "overlap"),
    [
        ("Denver Broncos", ["Denver Broncos", "The Denver Broncos"], 1, 1),
        ("the Denver Broncos!", ["Denver Broncos"], 1, 1),
        ("Broncos", ["Denver Broncos"], 0, 2 / 3),
        ("Denver Broncos won", ["Denver", "Broncos won it"], 0, 2 / 3),  # each measure takes its best answer
        ("to be to be", ["to be"], 0, 2 * 2 / 6),  # a word counts as often as it is there
        ("be to", ["to be"], 0, 1),
        ("no", ["yes"], 0, 0),
        ("", ["yes"], 0, 0),
        ("the", ["a"], 1, 1),  # nothing is left of either: no answer is right, and none is given
        ("Denver", ["a"], 0, 0),
        ("", ["a", "Denver"], 0, 0),  # an answer of which nothing is left is left out
        ("the", ["Denver"], 0, 0),
        ("", [], 1, 1),
        ("yes", [], 0, 0),
    ],
)
def test_an_answer_is_compared_with_all_true_answers(given, answers, exact, overlap):
    assert exact_match(given, answers) == exact
    assert f1(given, answers) == pytest.approx(overlap)


def test_characters_are_compared_without_any_punctuation():
    assert f1("1998 年，在", ["在1998年"], units="characters") == 1
    assert exact_match("《红楼梦》", ["红楼梦"], units="characters") == 1
    assert f1("红楼", ["红楼梦"], units="characters") == pytest.approx(0.8)
    assert f1("红楼", ["红楼梦"]) == 0
