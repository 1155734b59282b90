"""Matchers of llguidance with resource limits, and their errors."""

import re

from llguidance import LLMatcher, LLParserLimits

from tfattn.errors import ServingError
from tfattn.guidance.vocabulary import Vocabulary

# A mask takes ten milliseconds at most, and a lexer a hundred megabytes.
LIMITS = LLParserLimits(step_lexer_fuel=100_000, step_max_items=50_000, max_lexer_states=50_000, verbose_errors=False)
_LOCATION = re.compile(r"^(at )?\d+\(\d+\): ")


def compile_grammar(vocabulary: Vocabulary, grammar: str, *, where: str) -> LLMatcher:
    """Compile a grammar.

    Args:
        vocabulary: the tokens.
        grammar: the grammar, in llguidance's dialect of Lark.
        where: the field of the request, for messages.

    Raises:
        ServingError: llguidance does not support the grammar.
    """
    matcher = LLMatcher(vocabulary.tokenizer, LLMatcher.grammar_from_lark(grammar), log_level=0, limits=LIMITS)
    if matcher.is_error():
        raise matcher_error(matcher, where=where)
    return matcher


def matcher_error(matcher: LLMatcher, *, where: str) -> ServingError:
    """Create the error of a failed matcher."""
    message = matcher.get_error()
    if message.startswith("NoExtension"):
        return ServingError("no text is valid", where=where)
    if matcher.stop_reason() in ("LexerTooComplex", "ParserTooComplex") or "too many" in message:
        return ServingError(
            "the grammar is too ambiguous",
            where=where,
            remedy="Rewrite it so that the start of each part identifies the part.",
        )
    return ServingError(f"the guide is not supported ({_summary(message)})", where=where)


def _summary(message: str) -> str:
    """Return the message of llguidance without the excerpts of the grammar."""
    lines = [line for line in message.splitlines() if line]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    first = _LOCATION.sub("", lines[0]) if lines else "no reason given"
    return reasons[0] if reasons else first.removeprefix("failed to compile JSON schema: ")[:300]
