"""The vocabulary of a model for llguidance."""

from collections.abc import Sequence

from llguidance import LLTokenizer, TokenizerWrapper

# The bytes of characters with more than one byte.
CONTINUED = (*range(0x80, 0xC0), *range(0xC2, 0xF5))


class Vocabulary:
    """The tokens of a model.

    Args:
        token_bytes: the bytes of each of the V tokens; empty for special tokens.

    Attributes:
        size: V.
        alphabet: the characters that are tokens; None if every byte is a token. A text of other characters could be
            started by a longer token and never completed.
        tokenizer: the tokenizer of llguidance, with token V as the end of a text.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self.size = len(token_bytes)
        known = set(token_bytes)
        texts = list(token_bytes)
        self.alphabet: str | None = None
        if not {bytes([value]) for value in (*range(0x80), *CONTINUED)} <= known:
            texts = [token if _is_whole(token) else b"" for token in texts]  # partial characters could not be completed
            self.alphabet = "".join(sorted({text.decode() for text in texts if len(text.decode()) == 1}))
        self.tokenizer = LLTokenizer(TokenizerWrapper(_Tokens([*texts, b""])), eos_token=self.size)


class _Tokens:
    """The contract of llguidance's `TokenizerWrapper`."""

    bos_token_id = None

    def __init__(self, tokens: list[bytes]):
        self.tokens = tokens
        self.eos_token_id = len(tokens) - 1
        self.special_token_ids = [number for number, token in enumerate(tokens) if not token]

    def __call__(self, text: bytes | str) -> list[int]:
        raise NotImplementedError("grammars with forced tokens need a tokenizer")


def _is_whole(text: bytes) -> bool:
    """Return whether a text has only complete characters."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
