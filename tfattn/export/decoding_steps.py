"""Signatures for the steps of generation, for servers with continuous batching."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.decoding.cache import Cache
from tfattn.decoding.generation import Penalties
from tfattn.decoding.rows import largest, logsumexp, suppression_bias
from tfattn.decoding.sampling import Sampling, draw
from tfattn.export.request_settings import TYPES, assert_checks, range_checks, sampling_settings, signature
from tfattn.models.contracts.decoder import Decoder
from tfattn.ops.indexing import pick
from tfattn.preprocessing.language import Language
from tfattn.sampling_params import LOGITS_PARAMS, MAX_FLOAT, RANGES, Range, SamplingParams
from tfattn.trained.text_generator import SharedDecoder

TOKENIZE, PREFILL, PROMPT_LOGPROBS, DECODE_STEP = "tokenize", "prefill", "prompt_logprobs", "decode_step"
NUM_TOP_TOKENS = 20
_NEUTRAL = SamplingParams().of_logits
_RANGES = {name: RANGES[name] for name in LOGITS_PARAMS}
_RANGES |= dict.fromkeys(("counts", "logit_bias"), Range(float, 0.0, MAX_FLOAT))


def cache_sizes(model: Decoder | SharedDecoder) -> dict[str, Any]:
    """Return the sizes that a program needs to hold the cache of a decoder."""
    cache = model.empty_cache(1)
    keys = cache.past[0][0]
    return {
        "vocabulary_size": model.vocabulary_size,
        "num_layers": len(cache.past),
        "num_groups": keys.shape[1],
        "head_dim": keys.shape[3],
        "dtype": keys.dtype.name,
        "takes_logit_bias": True,
    }


class DecodingSteps:
    """Signatures for a program that holds the key-value cache and schedules the rows.

        tokenize      text (B,) -> token_ids (B, T) int32, lengths (B,) int32; special tokens in texts are plain text
        prefill       process prompt tokens, except for the last: token_ids (B, T) int32, padding_mask (B, T) bool,
                      lengths (B,) int32 and past (L, 2, B, G, S, K), the cached keys and values per layer, valid at the
                      first `lengths` positions
                      -> keys_values (L, 2, B, G, T, K), to be appended to the cache
        prompt_logprobs  process prompt tokens as prefill, and score the token after each of them, next_ids (B, T) int32
                      -> log_probability (B, T) float32 of these tokens; likeliest_ids and likeliest_log_probabilities
                      (B, T, 20), the top tokens at each position; keys_values as above
        decode_step   process tokens and sample the token after each of them. Additional inputs: index (B,) int32, the
                      number of generated tokens so far; seed, temperature, top_k, top_p, min_p, repetition_penalty,
                      presence_penalty and frequency_penalty (B,); in_prompt (B, V) bool; counts (B, V) float32, the
                      count of each generated token; allowed (B, V) or (B, 1) bool, the mask of allowed tokens;
                      logit_bias (B, V) or (B, 1) float32, added to the logits
                      -> token_ids (B, T) int32; log_probability (B, T) float32, of the unmodified distribution;
                      likeliest_ids and likeliest_log_probabilities (B, T, 20); keys_values as above

    With several tokens in a step, all but the first are draft tokens: a sampled token is valid if all drafts before it
    were sampled too. The samples of a row depend only on its seed and the position in its text.

    Args:
        language: the tokenizer.
        model: the decoder.
    """

    def __init__(self, language: Language, model: SharedDecoder):
        self._language, self._model = language, model
        cache = model.empty_cache(1)
        self._pairs = len(cache.past)
        _, self.num_groups, _, self.head_dim = cache.past[0][0].shape
        self.dtype = cache.past[0][0].dtype
        self._num_top_tokens = min(NUM_TOP_TOKENS, model.vocabulary_size)
        self._suppressed = suppression_bias(language.suppressed_ids, model.vocabulary_size)

    def signatures(self) -> dict[str, Any]:
        """Return signature name to function."""
        width = self._model.vocabulary_size
        cache_specs = [
            tf.TensorSpec([None, None], tf.int32, name="token_ids"),
            tf.TensorSpec([None, None], tf.bool, name="padding_mask"),
            tf.TensorSpec([None], tf.int32, name="lengths"),
            tf.TensorSpec([self._pairs, 2, None, self.num_groups, None, self.head_dim], self.dtype, name="past"),
        ]
        sampling_specs = [
            *(tf.TensorSpec([None], tf.int32, name=name) for name in ("index", "seed")),
            *(tf.TensorSpec([None], TYPES[type(value)], name=name) for name, value in _NEUTRAL.items()),
            tf.TensorSpec([None, width], tf.bool, name="in_prompt"),
            tf.TensorSpec([None, width], tf.float32, name="counts"),
            tf.TensorSpec([None, None], tf.bool, name="allowed"),
            tf.TensorSpec([None, None], tf.float32, name="logit_bias"),
        ]
        return {
            TOKENIZE: signature(self._tokenize, [tf.TensorSpec([None], tf.string, name="text")]),
            PREFILL: signature(self._prefill, cache_specs),
            PROMPT_LOGPROBS: signature(
                self._prompt_logprobs, [*cache_specs, tf.TensorSpec([None, None], tf.int32, name="next_ids")]
            ),
            DECODE_STEP: signature(self._decode_step, [*cache_specs, *sampling_specs]),
        }

    def warm_up(self, texts: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield a request for each signature."""
        yield TOKENIZE, {"text": list(texts)}
        rows, width = len(texts), self._model.vocabulary_size
        inputs = {
            "token_ids": np.full((rows, 1), self._language.end_id, np.int32),
            "padding_mask": np.ones((rows, 1), bool),
            "lengths": np.zeros(rows, np.int32),
            "past": np.zeros((self._pairs, 2, rows, self.num_groups, 1, self.head_dim), self.dtype.as_numpy_dtype),
        }
        yield PREFILL, inputs
        yield PROMPT_LOGPROBS, {**inputs, "next_ids": inputs["token_ids"]}
        settings = {name: np.zeros(rows, np.int32) for name in ("index", "seed")}
        settings |= {name: np.full(rows, value, TYPES[type(value)]) for name, value in _NEUTRAL.items()}
        counts = {"in_prompt": np.zeros((rows, width), bool), "counts": np.zeros((rows, width), np.float32)}
        every = {"allowed": np.ones((rows, 1), bool), "logit_bias": np.zeros((rows, 1), np.float32)}
        yield DECODE_STEP, {**inputs, **settings, **counts, **every}

    def _tokenize(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        token_ids = self._language.split(text)
        return {"token_ids": token_ids.to_tensor(), "lengths": tf.cast(token_ids.row_lengths(), tf.int32)}

    def _prefill(self, token_ids: tf.Tensor, padding_mask: tf.Tensor, lengths: tf.Tensor, past: tf.Tensor) -> Any:
        return {"keys_values": self._read(token_ids, padding_mask, lengths, past)[1]}

    def _prompt_logprobs(
        self,
        *,
        token_ids: tf.Tensor,
        padding_mask: tf.Tensor,
        lengths: tf.Tensor,
        past: tf.Tensor,
        next_ids: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        x, keys_values = self._read(token_ids, padding_mask, lengths, past)
        logits = tf.reshape(self._model.next_logits(x), [-1, self._model.vocabulary_size])
        scored = self._logprobs(logits, tf.reshape(next_ids, [-1]), tf.unstack(tf.shape(token_ids)))
        return {**scored, "keys_values": keys_values}

    def _logprobs(self, logits: tf.Tensor, token_ids: tf.Tensor, shape: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return the log probabilities of tokens (B T,) and of the top tokens, in the shape (B, T)."""
        total = logsumexp(logits, tf.argmax(logits, axis=1, output_type=tf.int32)[:, None])
        values, top_ids = largest(logits, self._num_top_tokens)
        return {
            "log_probability": tf.reshape(pick(logits, token_ids[:, None]) - total, shape),
            "likeliest_ids": tf.reshape(top_ids, [*shape, self._num_top_tokens]),
            "likeliest_log_probabilities": tf.reshape(values - total, [*shape, self._num_top_tokens]),
        }

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
        # The sum and the maximum are finite if all numbers are.
        numbers = settings | {
            "counts": tf.reduce_sum(counts, axis=1),
            "logit_bias": tf.reduce_max(tf.abs(logit_bias), axis=1),
        }
        with tf.control_dependencies([assert_checks(range_checks(numbers, _RANGES))]):
            counts, logit_bias = tf.identity(counts), tf.identity(logit_bias)
            settings = {name: tf.identity(values) for name, values in settings.items()}
        sampling, penalties = sampling_settings(settings)
        x, keys_values = self._read(token_ids, padding_mask, lengths, past)
        rows, times = tf.unstack(tf.shape(token_ids))
        width = self._model.vocabulary_size

        def per_token(values: tf.Tensor) -> tf.Tensor:
            """Repeat the values of a row for each of its tokens: (B, ...) -> (B T, ...)."""
            return tf.repeat(values, times, axis=0)

        logits = tf.reshape(self._model.next_logits(x), [-1, width])
        # The first token is already counted or in the prompt; a draft counts for the tokens after it.
        drafts = tf.cumsum(tf.one_hot(token_ids[:, 1:], width), axis=1)
        counts = tf.reshape(counts[:, None] + tf.pad(drafts, [[0, 0], [1, 0], [0, 0]]), [-1, width])
        penalties = Penalties(*map(per_token, penalties))
        changed = penalties.apply(logits, per_token(tf.cast(in_prompt, tf.float32)), counts)
        changed += per_token(logit_bias) + self._suppressed
        changed = tf.where(per_token(allowed), changed, tf.float32.min)
        positions = tf.reshape(index[:, None] + tf.range(times), [-1])
        drawn = draw(
            changed, Sampling(*map(per_token, sampling)), index=positions, done=tf.zeros_like(positions, tf.bool)
        )
        shape = [rows, times]
        return {
            "token_ids": tf.reshape(drawn, shape),
            **self._logprobs(logits, drawn, shape),
            "keys_values": keys_values,
        }

    def _read(self, token_ids: tf.Tensor, padding_mask: tf.Tensor, lengths: tf.Tensor, past: tf.Tensor) -> tuple:
        empty = self._model.empty_cache(tf.shape(token_ids)[0])
        cache = Cache(
            lengths=lengths,
            past=[tuple(tf.unstack(pair)) for pair in tf.unstack(past)],
            past_mask=tf.range(tf.shape(past)[4]) < lengths[:, None],
            recent=empty.recent,
            recent_mask=empty.recent_mask,
        )
        x, cache = self._model.read(token_ids, cache, padding_mask)
        return x, tf.stack([tf.stack(pair) for pair in cache.recent])
