"""Vocabularies, and texts that are sampled under a guide."""

import random

import numpy as np

from tfattn.guidance.grammar import field_grammar
from tfattn.guidance.guide import Guide
from tfattn.guidance.matcher import compile_grammar
from tfattn.guidance.vocabulary import Vocabulary

BYTES = [bytes([value]) for value in range(256)]
END = b""  # of which there is one, the last
BYTE_VOCABULARY = Vocabulary(BYTES)


def merged(seed: int, count: int = 400) -> list[bytes]:
    """Return all bytes, random merges of likely text, two empty tokens, and an end."""
    rng = random.Random(seed)
    pieces = [*'":,{}[] ab01-.é\\u', "name", "true", "null"]
    tokens = dict.fromkeys("".join(rng.choices(pieces, k=rng.randint(1, 4))).encode() for _ in range(count))
    halves = ["é".encode()[:1] + b'"', "é".encode()[1:] + b'"']  # tokens may end anywhere
    return [*BYTES, *tokens, *halves, b"", b"", END]


def drawn(guide: Guide, token_bytes: list[bytes], rng: random.Random, *, most: int = 40) -> bytes:
    """Sample a text; from `most` tokens on, only tokens that finish it."""
    written: list[int] = []
    while not guide.is_finished:
        allowed = guide.allowed()
        assert allowed.any()
        assert not allowed[[i for i, text in enumerate(token_bytes[:-1]) if not text]].any()
        is_free = len(written) < most
        token_id = rng.choice(np.flatnonzero(allowed).tolist()) if is_free else nearest_end(guide, allowed)
        guide.advance(token_id)
        written.append(token_id)
        assert len(written) < most + 5_000
    return b"".join(token_bytes[token_id] for token_id in written)


def nearest_end(guide: Guide, allowed: np.ndarray) -> int:
    """Choose a token that ends the text, or a character that closes an open part."""
    if allowed[-1]:
        return len(allowed) - 1
    closing = [ord(character) for character in '"}],0ealsu:l' if allowed[ord(character)]]
    return closing[0] if closing else int(np.flatnonzero(allowed)[0])


def fits(name: str, value: object, text: str) -> bool:
    """Return whether a whole text is valid for a field."""
    matcher = compile_grammar(BYTE_VOCABULARY, field_grammar(name, value), where=name)
    written = list(text.encode())
    return matcher.try_consume_tokens(written) == len(written) and matcher.is_accepting()
