"""A guide: background computation of masks, with a limit per text."""

import pytest
from llguidance import LLParserLimits

from tests.guidance.vocabularies import BYTES
from tfattn.errors import ServingError
from tfattn.guidance import guide as module
from tfattn.guidance import matcher
from tfattn.guidance.guides import Guides

GUIDES = Guides(BYTES)


def test_computation_per_text_is_limited(monkeypatch):
    monkeypatch.setattr(module, "MAX_SECONDS", 0.0)
    guide = GUIDES.guide({"guided_regex": "a+"}, end_ids=[])
    guide.advance(ord("a"))
    for _ in range(2):  # it stays refused
        with pytest.raises(ServingError, match="guided_regex: the guide takes too much computation"):
            guide.allowed()


def test_computation_per_mask_is_limited(monkeypatch):
    monkeypatch.setattr(matcher, "LIMITS", LLParserLimits(step_lexer_fuel=2_000, verbose_errors=False))
    with pytest.raises(ServingError, match="guided_regex: the grammar is too ambiguous"):
        guide = GUIDES.guide({"guided_regex": "(?:(?:.{0,30}){30}|(?:..?.?){100}|(?:.{3,7}x?){50})y"}, end_ids=[])
        for _ in range(100):
            guide.advance(ord("a"))


def test_a_vocabulary_without_valid_continuation_is_reported():
    guides = Guides([b"a", b"b"])
    guide = guides.guide({"guided_grammar": 'start: "ab" | "ac"'}, end_ids=[])
    guide.advance(0)
    assert guide.allowed().tolist() == [False, True]
    guide = Guides([b"a", b"x"]).guide({"guided_grammar": 'start: "ab" | "ac"'}, end_ids=[])
    guide.advance(0)
    with pytest.raises(ServingError, match="guided_grammar: no text is valid"):
        guide.allowed()
