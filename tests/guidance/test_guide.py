"""A guide: masks are computed aside, and a text has a budget for all of them."""

import pytest
from llguidance import LLParserLimits

from tests.guidance.vocabularies import BYTES
from tfattn.errors import ServingError
from tfattn.guidance import guide as module
from tfattn.guidance import matcher
from tfattn.guidance.guides import Guides

GUIDES = Guides(BYTES)


def test_a_text_has_a_budget(monkeypatch):
    monkeypatch.setattr(module, "MAX_SECONDS", 0.0)
    guide = GUIDES.of({"guided_regex": "a+"}, end_ids=[])
    guide.advance(ord("a"))
    for _ in range(2):  # it stays refused
        with pytest.raises(ServingError, match="guided_regex: what guides the text takes too much work"):
            guide.allowed()


def test_a_mask_has_a_limit(monkeypatch):
    monkeypatch.setattr(matcher, "LIMITS", LLParserLimits(step_lexer_fuel=2_000, verbose_errors=False))
    with pytest.raises(ServingError, match="guided_regex: what guides the text can be read in too many ways"):
        guide = GUIDES.of({"guided_regex": "(?:(?:.{0,30}){30}|(?:..?.?){100}|(?:.{3,7}x?){50})y"}, end_ids=[])
        for _ in range(100):
            guide.advance(ord("a"))


def test_a_vocabulary_that_cannot_go_on_is_said():
    guides = Guides([b"a", b"b"])
    guide = guides.of({"guided_grammar": 'start: "ab" | "ac"'}, end_ids=[])
    guide.advance(0)
    assert guide.allowed().tolist() == [False, True]
    guide = Guides([b"a", b"x"]).of({"guided_grammar": 'start: "ab" | "ac"'}, end_ids=[])
    guide.advance(0)
    with pytest.raises(ServingError, match="guided_grammar: no text fits"):
        guide.allowed()
