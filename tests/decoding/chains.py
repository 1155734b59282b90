"""Small models with known probabilities, whose decoded texts can be computed by hand."""

import keras
import numpy as np
import pytest
from keras import ops

PADDING, END, START = 0, 1, 2

only_tensorflow = pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="about graphs of TensorFlow")


def numbers(decoded):
    """What was decoded, as numpy arrays."""
    return type(decoded)(*(None if part is None else ops.convert_to_numpy(part) for part in decoded))


def texts(decoded):
    """The token ids of every text as lists, nested as the answer is."""
    token_ids, lengths = (ops.convert_to_numpy(part) for part in (decoded.token_ids, decoded.lengths))
    behind = np.arange(token_ids.shape[-1]) >= lengths[..., None]
    assert (token_ids[behind] == 0).all(), "zeros behind the last"

    def listed(token_ids, lengths):
        if np.ndim(lengths) == 0:
            return token_ids[:lengths].tolist()
        return [listed(*row) for row in zip(token_ids, lengths, strict=True)]

    return listed(token_ids, lengths)


def markov(probabilities):
    """A step by a table: the probabilities (V, V) of the next token depend on the one before alone."""
    with np.errstate(divide="ignore"):
        logits = ops.convert_to_tensor(np.log(probabilities).astype("float32"))
    return lambda token_ids, index, state: (ops.take(logits, token_ids, axis=0), state, None)


class Recurrent:
    """Random logits that depend on all tokens so far and on the row's source (B, D).

    Args:
        vocabulary_size: V.
        seed: of the weights.
    """

    width = 5

    def __init__(self, vocabulary_size, seed):
        draw = np.random.default_rng(seed)
        self.embeddings = draw.normal(size=(vocabulary_size, self.width)).astype("float32")
        self.recurrent = draw.normal(size=(self.width, self.width)).astype("float32")
        self.output = 1.5 * draw.normal(size=(self.width, vocabulary_size)).astype("float32")

    def sources(self, batch, seed=0):
        return np.random.default_rng(seed).normal(size=(batch, self.width)).astype("float32")

    def first_state(self, sources, num_beams=1):
        return {"hidden": ops.repeat(ops.convert_to_tensor(sources), num_beams, axis=0)}

    def next(self, hidden, token_ids):
        moved = ops.sum(hidden[:, :, None] * self.recurrent, axis=1)
        return ops.tanh(moved + ops.take(ops.convert_to_tensor(self.embeddings), token_ids, axis=0))

    def logits(self, hidden):
        return ops.sum(hidden[:, :, None] * self.output, axis=1)

    def cached(self, token_ids, index, state):
        """Goes on from the vector that the step before left."""
        hidden = self.next(state["hidden"], token_ids)
        aligned = ops.one_hot(token_ids, self.embeddings.shape[0])
        return self.logits(hidden), {"hidden": hidden}, aligned

    def uncached(self, token_ids, index, state):
        """Reads all tokens again at every step."""
        source, read = state
        at = ops.arange(read.shape[1], dtype="int32") == index
        read = ops.where(at, token_ids[:, None], read)
        hidden = source
        for position in range(read.shape[1]):
            hidden = ops.where(position <= index, self.next(hidden, read[:, position]), hidden)
        return self.logits(hidden), (source, read), None

    def log_probabilities(self, source, tokens):
        """Those of the token after `tokens`, which do not count the start: (V,) float64."""
        hidden = source.astype("float64")
        for token in [START, *tokens]:
            hidden = np.tanh(hidden @ self.recurrent + self.embeddings[token])
        logits = hidden @ self.output
        return logits - np.log(np.exp(logits).sum())
