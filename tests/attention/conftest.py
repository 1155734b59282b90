"""Views of random weights."""

from collections.abc import Callable

import numpy as np
import pytest

from tfattn.attention.views import Views, of_outputs


def outputs(num_tokens: int, *, layers: int = 2, heads: int = 3, width: int = 4, seed: int = 0) -> dict:
    """Return outputs of the signatures for a text of two segments of an encoder, padded by two tokens."""
    draw = np.random.default_rng(seed)
    padded = num_tokens + 2
    queries, keys = draw.normal(size=(2, layers, heads, padded, width)).astype("float32")
    scores = queries @ np.swapaxes(keys, -1, -2) / np.sqrt(width)
    scores[..., num_tokens:] = -1e9
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    numbers = np.arange(padded)
    real = numbers < num_tokens
    names = np.array([f"token{number}".encode() if number < num_tokens else b"" for number in numbers])
    return {
        "tokens": names,
        "word_texts": names,
        "words": np.where(real, numbers // 2, 0),
        "segments": np.where(real, (numbers >= num_tokens // 2).astype(int), -1),
        "is_special": numbers == 0,
        "encoder_weights": exponents / exponents.sum(axis=-1, keepdims=True),
        "encoder_queries": queries,
        "encoder_keys": keys,
    }


@pytest.fixture(scope="session")
def make_views() -> Callable[..., Views]:
    """Return a function that makes views: `make_views(20, layers=2, heads=3)`."""

    def make_views(num_tokens: int, **options) -> Views:
        found = outputs(num_tokens, **options)
        contributed = {
            "attributions": np.linspace(-0.1, 0.3, num_tokens + 2),
            "score": 0.9,
            "baseline_score": 0.2,
            "scored": b"Leak </script><b>",
        }
        return of_outputs("sample", found, found, contributed)

    return make_views
