"""The tokens of a model, as llguidance takes them."""

from collections.abc import Sequence

from llguidance import LLTokenizer, TokenizerWrapper

# The bytes of characters with more than one byte.
CONTINUED = (*range(0x80, 0xC0), *range(0xC2, 0xF5))


class Vocabulary:
    """A vocabulary.

    Args:
        token_bytes: what each token adds to a text, V of them; nothing for a token that is no text.

    Attributes:
        size: V.
        alphabet: the characters that are tokens by themselves; None where every byte is a token. A text of other
            characters could be begun by a longer token and never completed.
        tokenizer: for llguidance, with a token V that ends a text.
    """

    def __init__(self, token_bytes: Sequence[bytes]):
        self.size = len(token_bytes)
        known = set(token_bytes)
        texts = list(token_bytes)
        self.alphabet: str | None = None
        if not {bytes([value]) for value in (*range(0x80), *CONTINUED)} <= known:
            texts = [token if _is_whole(token) else b"" for token in texts]  # nothing may complete half a character
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
    """Tell whether a text has no half of a character."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
