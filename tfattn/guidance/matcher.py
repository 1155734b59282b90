"""Matchers of llguidance with limits on their work, and their errors in the words of this project."""

import re

from llguidance import LLMatcher, LLParserLimits

from tfattn.errors import ServingError
from tfattn.guidance.vocabulary import Vocabulary

# A mask takes ten milliseconds at most, and a lexer a hundred megabytes.
LIMITS = LLParserLimits(step_lexer_fuel=100_000, step_max_items=50_000, max_lexer_states=50_000, verbose_errors=False)
_PLACE = re.compile(r"^(at )?\d+\(\d+\): ")


def compiled(vocabulary: Vocabulary, grammar: str, *, where: str) -> LLMatcher:
    """Compile a grammar.

    Args:
        vocabulary: the tokens.
        grammar: in llguidance's dialect of Lark.
        where: what asks for it, for messages.

    Raises:
        ServingError: llguidance cannot hold a text to it.
    """
    matcher = LLMatcher(vocabulary.tokenizer, LLMatcher.grammar_from_lark(grammar), log_level=0, limits=LIMITS)
    if matcher.is_error():
        raise failure_of(matcher, where=where)
    return matcher


def failure_of(matcher: LLMatcher, *, where: str) -> ServingError:
    """Return the error of a matcher that has failed."""
    message = matcher.get_error()
    if message.startswith("NoExtension"):
        return ServingError("no text fits", where=where)
    if matcher.stop_reason() in ("LexerTooComplex", "ParserTooComplex") or "too many" in message:
        return ServingError(
            "what guides the text can be read in too many ways",
            where=where,
            remedy="Say it so that the beginning of a part tells which part it is.",
        )
    return ServingError(f"a text cannot be held to it ({_in_short(message)})", where=where)


def _in_short(message: str) -> str:
    """Return what llguidance says without the excerpts of the grammar."""
    lines = [line for line in message.splitlines() if line]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    first = _PLACE.sub("", lines[0]) if lines else "no reason given"
    return reasons[0] if reasons else first.removeprefix("failed to compile JSON schema: ")[:300]
