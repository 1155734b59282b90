"""Sentence segmentation: lossless, without false sentence ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data.examples.sentences import sentences_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One came. Two went! Who? Nobody.", ["One came.", "Two went!", "Who?", "Nobody."]),
        (
            "Dr. Smith, e.g. J. R. Smith of the U.S. Army, came.",
            ["Dr. Smith, e.g. J. R. Smith of the U.S. Army, came."],
        ),
        ("It costs 3.50 or 1,000. 5 are left.", ["It costs 3.50 or 1,000.", "5 are left."]),
        (
            'He said "Go." Then he went. (Far away.) "So?" Yes.',
            ['He said "Go."', "Then he went.", "(Far away.)", '"So?"', "Yes."],
        ),
        ("Wait... what? it went on. and on", ["Wait... what? it went on. and on"]),
        ("农业是产业。“真的吗？”他问！是的", ["农业是产业。", "“真的吗？”", "他问！", "是的"]),
        ("Рига е град. Тя е голяма.", ["Рига е град.", "Тя е голяма."]),
        ("   ", []),
    ],
)
def test_sentences_end_at_sentence_boundaries(text, expected):
    assert sentences_of(text) == expected


@given(st.text(st.sampled_from('aB1 .!?。”"(\t')))
def test_sentences_join_to_the_text(text):
    found = sentences_of(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)


def test_a_long_run_of_stops_is_read_at_once():
    assert sentences_of("." * 200_000 + " A") == ["." * 200_000, "A"]
