"""A decoder as graph functions that are traced once and shared by all decoding loops."""

from typing import Any, Union

import tensorflow as tf
from keras import tree

from tfattn.decoding.cache import Cache
from tfattn.models.contracts.decoder import Decoder


class SharedDecoder:
    """A decoder whose methods are graph functions, traced once for all callers.

    Decoding loops are traced several times for each signature. If each trace contained the layers of a deep model, an
    export would take minutes to write and to load.

    Args:
        model: the decoder, or another SharedDecoder.
        inlined: whether TensorFlow may inline the functions. Outside of loops, a step is an eighth faster with
            inlining; the body of a loop is optimized again for each loop.

    Attributes:
        vocabulary_size, max_sequence_length: of the decoder.
    """

    def __init__(self, model: Union[Decoder, "SharedDecoder"], *, inlined: bool = False):
        self.vocabulary_size, self.max_sequence_length = model.vocabulary_size, model.max_sequence_length
        self.empty_cache = model.empty_cache
        cache = tree.map_structure(_of_any_size, model.empty_cache(1))
        ids, mask = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)
        self._read = _function(model.read, [ids, cache, mask], inlined)
        self._step = _function(model.step, [tf.TensorSpec([None], tf.int32), cache], inlined)
        width = self._read.get_concrete_function().structured_outputs[0]
        vectors = tf.TensorSpec([None, None, width.shape[-1]], width.dtype)
        self._next_logits = _function(model.next_logits, [vectors], inlined)

    def read(self, token_ids: Any, cache: Cache, padding_mask: Any) -> tuple[Any, Cache]:
        """Read tokens, see `Decoder.read`."""
        x, cache = self._read(token_ids, cache, padding_mask)
        return x, Cache(*cache)

    def step(self, token_ids: Any, cache: Cache) -> tuple[Any, Cache]:
        """Take a decoding step, see `Decoder.step`."""
        logits, cache = self._step(token_ids, cache)
        return logits, Cache(*cache)

    def next_logits(self, x: Any) -> Any:
        """Compute the logits of next tokens from vectors (B, T, D), see `Decoder.next_logits`."""
        return self._next_logits(x)


def _of_any_size(x: Any) -> tf.TensorSpec:
    """Return the spec of a cache tensor with any number of rows and positions."""
    return tf.TensorSpec(
        [None if axis in (0, 2) or len(x.shape) == 2 else size for axis, size in enumerate(x.shape)], x.dtype
    )


def _function(function: Any, specs: list[Any], inlined: bool) -> Any:
    attributes = {} if inlined else {"_noinline": True}
    return tf.function(function, input_signature=specs, autograph=False, experimental_attributes=attributes)
