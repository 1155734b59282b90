"""The steps of generation one by one, for servers that let texts join and leave a running batch."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.decoding.cache import Cache
from tfattn.decoding.generation import Penalties
from tfattn.decoding.rows import largest, logsumexp, suppression_bias
from tfattn.decoding.sampling import Sampling, draw
from tfattn.export.request_settings import TYPES, choice_of, refuse, signature, within
from tfattn.ops.indexing import pick
from tfattn.preprocessing.language import Language
from tfattn.sampling_params import MAX_FLOAT, RANGES, Range, SamplingParams
from tfattn.trained.shared_decoder import SharedDecoder

TOKENIZE, PREFILL, DECODE_STEP = "tokenize", "prefill", "decode_step"
NUM_LIKELIEST = 20
_NEUTRAL = vars(SamplingParams())
_RANGES = RANGES | dict.fromkeys(("counts", "logit_bias"), Range(float, 0.0, MAX_FLOAT))


class DecodingSteps:
    """The signatures with which another program writes: it holds what was read, and says who goes on.

        tokenize      text (B,) -> token_ids (B, T) int32, lengths (B,) int32; special tokens are not read out of texts
        prefill       read more tokens of each text, but the last of its prompt: token_ids (B, T) int32, padding_mask
                      (B, T) bool, lengths (B,) int32 and past (L, 2, B, G, S, K), keys and values of each layer, of
                      which the first `lengths` positions count
                      -> keys_values (L, 2, B, G, T, K), which belong behind them
        decode_step   read tokens as well, and draw what comes behind each: also index (B,) int32, how many tokens were
                      written before; seed, temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty and
                      frequency_penalty (B,); in_prompt (B, V) bool; counts (B, V) float32, how often each token was
                      written before; allowed (B, V) or (B, 1) bool, what may be drawn; logit_bias (B, V) or (B, 1)
                      float32, which is added to the logits of what is drawn
                      -> token_ids (B, T) int32; log_probability (B, T) float32, by the model itself; likeliest_ids and
                      likeliest_log_probabilities (B, T, 20); keys_values as above

    Of several tokens in a step all but the first are guesses (drafts): what is drawn behind a token is right if all
    guesses before were drawn, too. What a row draws depends on its seed and the place in its text alone.

    Args:
        language: makes tokens of texts.
        model: the decoder.
    """

    def __init__(self, language: Language, model: SharedDecoder):
        self._language, self._model = language, model
        cache = model.empty_cache(1)
        self._pairs = len(cache.past)
        _, self.num_groups, _, self.head_dim = cache.past[0][0].shape
        self.dtype = cache.past[0][0].dtype
        self._num_likeliest = min(NUM_LIKELIEST, model.vocabulary_size)
        self._suppressed = suppression_bias(language.suppressed_ids, model.vocabulary_size)

    @property
    def sizes(self) -> dict[str, Any]:
        """What a program has to know that holds what was read."""
        return {
            "vocabulary_size": self._model.vocabulary_size,
            "num_layers": self._pairs,
            "num_groups": self.num_groups,
            "head_dim": self.head_dim,
            "dtype": self.dtype.name,
            "takes_logit_bias": True,
        }

    def signatures(self) -> dict[str, Any]:
        """Return the functions by name."""
        width = self._model.vocabulary_size
        reading = [
            tf.TensorSpec([None, None], tf.int32, name="token_ids"),
            tf.TensorSpec([None, None], tf.bool, name="padding_mask"),
            tf.TensorSpec([None], tf.int32, name="lengths"),
            tf.TensorSpec([self._pairs, 2, None, self.num_groups, None, self.head_dim], self.dtype, name="past"),
        ]
        drawing = [
            *(tf.TensorSpec([None], tf.int32, name=name) for name in ("index", "seed")),
            *(tf.TensorSpec([None], TYPES[type(value)], name=name) for name, value in _NEUTRAL.items()),
            tf.TensorSpec([None, width], tf.bool, name="in_prompt"),
            tf.TensorSpec([None, width], tf.float32, name="counts"),
            tf.TensorSpec([None, None], tf.bool, name="allowed"),
            tf.TensorSpec([None, None], tf.float32, name="logit_bias"),
        ]
        return {
            TOKENIZE: signature(self._tokenize, [tf.TensorSpec([None], tf.string, name="text")]),
            PREFILL: signature(self._prefill, reading),
            DECODE_STEP: signature(self._decode_step, [*reading, *drawing]),
        }

    def warm_up(self, texts: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield a request for each signature, from some texts."""
        yield TOKENIZE, {"text": list(texts)}
        rows, width = len(texts), self._model.vocabulary_size
        reading = {
            "token_ids": np.full((rows, 1), self._language.end_id, np.int32),
            "padding_mask": np.ones((rows, 1), bool),
            "lengths": np.zeros(rows, np.int32),
            "past": np.zeros((self._pairs, 2, rows, self.num_groups, 1, self.head_dim), self.dtype.as_numpy_dtype),
        }
        yield PREFILL, reading
        settings = {name: np.zeros(rows, np.int32) for name in ("index", "seed")}
        settings |= {name: np.full(rows, value, TYPES[type(value)].as_numpy_dtype) for name, value in _NEUTRAL.items()}
        counts = {"in_prompt": np.zeros((rows, width), bool), "counts": np.zeros((rows, width), np.float32)}
        every = {"allowed": np.ones((rows, 1), bool), "logit_bias": np.zeros((rows, 1), np.float32)}
        yield DECODE_STEP, {**reading, **settings, **counts, **every}

    def _tokenize(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids = self._language.split(text)
        return {"token_ids": token_ids.to_tensor(), "lengths": tf.cast(token_ids.row_lengths(), tf.int32)}

    def _prefill(self, token_ids: tf.Tensor, padding_mask: tf.Tensor, lengths: tf.Tensor, past: tf.Tensor) -> Any:
        return {"keys_values": self._read(token_ids, padding_mask, lengths, past)[1]}

    def _decode_step(
        self,
        *,
        token_ids: tf.Tensor,
        padding_mask: tf.Tensor,
        lengths: tf.Tensor,
        past: tf.Tensor,
        index: tf.Tensor,
        in_prompt: tf.Tensor,
        counts: tf.Tensor,
        allowed: tf.Tensor,
        logit_bias: tf.Tensor,
        **settings: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        # A sum, and a largest size, are finite where each number is.
        numbers = settings | {
            "counts": tf.reduce_sum(counts, axis=1),
            "logit_bias": tf.reduce_max(tf.abs(logit_bias), axis=1),
        }
        with tf.control_dependencies([refuse(within(numbers, _RANGES))]):
            counts, logit_bias = tf.identity(counts), tf.identity(logit_bias)
            settings = {name: tf.identity(values) for name, values in settings.items()}
        sampling, penalties = choice_of(settings)
        x, keys_values = self._read(token_ids, padding_mask, lengths, past)
        rows, times = tf.unstack(tf.shape(token_ids))
        width = self._model.vocabulary_size

        def each(values: tf.Tensor) -> tf.Tensor:
            """Repeat what a row has for each of its tokens: (B, ...) -> (B T, ...)."""
            return tf.repeat(values, times, axis=0)

        logits = tf.reshape(self._model.next_logits(x), [-1, width])
        # The first token is counted already, or stands in the prompt; guesses count behind themselves.
        guessed = tf.cumsum(tf.one_hot(token_ids[:, 1:], width), axis=1)
        counts = tf.reshape(counts[:, None] + tf.pad(guessed, [[0, 0], [1, 0], [0, 0]]), [-1, width])
        penalties = Penalties(*map(each, penalties))
        changed = penalties.apply(logits, each(tf.cast(in_prompt, tf.float32)), counts)
        changed += each(logit_bias) + self._suppressed
        changed = tf.where(each(allowed), changed, tf.float32.min)
        places = tf.reshape(index[:, None] + tf.range(times), [-1])
        drawn = draw(changed, Sampling(*map(each, sampling)), index=places, done=tf.zeros_like(places, tf.bool))
        total = logsumexp(logits, tf.argmax(logits, axis=1, output_type=tf.int32)[:, None])
        values, likeliest = largest(logits, self._num_likeliest)
        shape = [rows, times]
        return {
            "token_ids": tf.reshape(drawn, shape),
            "log_probability": tf.reshape(pick(logits, drawn[:, None]) - total, shape),
            "likeliest_ids": tf.reshape(likeliest, [*shape, self._num_likeliest]),
            "likeliest_log_probabilities": tf.reshape(values - total, [*shape, self._num_likeliest]),
            "keys_values": keys_values,
        }

    def _read(self, token_ids: tf.Tensor, padding_mask: tf.Tensor, lengths: tf.Tensor, past: tf.Tensor) -> tuple:
        nothing = self._model.empty_cache(tf.shape(token_ids)[0])
        cache = Cache(
            lengths=lengths,
            past=[tuple(tf.unstack(pair)) for pair in tf.unstack(past)],
            past_mask=tf.range(tf.shape(past)[4]) < lengths[:, None],
            recent=nothing.recent,
            recent_mask=nothing.recent_mask,
        )
        x, cache = self._model.read(token_ids, cache, padding_mask)
        return x, tf.stack([tf.stack(pair) for pair in cache.recent])
