"""Passages of long texts: lossless, with boundaries between pieces."""

from hypothesis import given
from hypothesis import strategies as st

from tfattn.preprocessing import passages
from tfattn.preprocessing.passages import batch_passages, split_passages


def test_passages_join_to_the_text(monkeypatch):
    monkeypatch.setattr(passages, "_PASSAGE", 4)

    @given(st.text(st.sampled_from("ab \n")))
    def check(text):
        found = list(split_passages(text))
        assert "".join(found) == text
        for before, behind in zip(found, found[1:], strict=False):
            assert not before[-1].isspace() and behind[0].isspace() and len(before) >= 4

    check()


def test_batches_are_filled_in_order(monkeypatch):
    monkeypatch.setattr(passages, "_PASSAGE", 4)
    monkeypatch.setattr(passages, "MAX_CHARACTERS", 10)
    found = list(batch_passages(["aaaa bbbb cc", "", "dddddddddddd", "e"]))
    assert [batch.passages for batch in found] == [["aaaa", " bbbb"], [" cc", ""], ["dddddddddddd"], ["e"]]
    assert [batch.texts for batch in found] == [[0, 0], [0, 1], [2], [3]]
