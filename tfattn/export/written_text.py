"""What was written as bytes, as text: up to a stop string, and in whole characters."""

from typing import Any

import tensorflow as tf

from tfattn.decoding.rounds import LoopState
from tfattn.preprocessing.language import Language

MOST_STOP_BYTES = 128


def ends_with_stop(language: Language, stop: tf.Tensor) -> Any:
    """Return what tells the decoding loop that a row has just written one of its stop strings.

    Args:
        language: makes texts of tokens.
        stop: (B, n) strings; empty ones stop nothing.
    """

    has_stops = tf.reduce_any(tf.strings.length(stop) > 0)

    def has_stopped(token_ids: tf.Tensor, loop: LoopState) -> tf.Tensor:
        own = tf.gather(stop, loop.rows)
        # So many tokens hold a stop string at most, and one of no bytes is never written.
        reach = tf.minimum(tf.reduce_max(tf.strings.length(stop)), loop.index)
        before = tf.gather(loop.records[0][loop.index - reach : loop.index], loop.rows, axis=1)
        tail = language.detokenize(tf.concat([tf.transpose(before), token_ids[:, None]], axis=1))
        return tf.reduce_any(_places(tail, own) < _NOWHERE, axis=1)

    def is_last(token_ids: tf.Tensor, loop: LoopState) -> tf.Tensor:
        none = tf.zeros_like(token_ids, tf.bool)
        return tf.cond(has_stops, lambda: has_stopped(token_ids, loop), lambda: none)

    return is_last


def before_stop(texts: tf.Tensor, stop: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Cut texts (B,) where the first of their stop strings (B, n) begins; also returns which were cut (B,) bool."""
    length = tf.strings.length(texts)
    places = tf.reduce_min(tf.pad(_places(texts, stop), [[0, 0], [0, 1]], constant_values=_NOWHERE), axis=1)
    return tf.strings.substr(texts, tf.zeros_like(length), tf.minimum(places, length)), places < _NOWHERE


def whole_characters(texts: tf.Tensor) -> tf.Tensor:
    """Drop a character that is not finished at the end of texts (B,), and replace bytes that are none by U+FFFD.

    Example:
        >>> whole_characters(tf.constant([b"gr\xc3\xbcn \xc3"])).numpy()[0].decode()
        'grün '
    """
    length = tf.strings.length(texts)
    start = tf.maximum(length - 3, 0)
    # Their last three bytes, the last one first; behind a text of fewer stand zeros.
    last = tf.cast(
        tf.io.decode_raw(tf.strings.substr(texts, start, length - start), tf.uint8, fixed_length=3), tf.int32
    )
    back = tf.clip_by_value(tf.minimum(length, 3)[:, None] - 1 - tf.range(3), 0, 2)
    last = tf.where(tf.range(3) < length[:, None], tf.gather(last, back, batch_dims=1), 0)
    # A first byte of 2, 3 or 4 bytes of which fewer are there, and behind it what may still become a character.
    is_first = (last >= tf.constant([0xC2, 0xE0, 0xF0])) & (last <= 0xF4)
    second = tf.pad(last[:, :2], [[0, 0], [1, 0]], constant_values=0x80)
    low = tf.where(last == 0xE0, 0xA0, tf.where(last == 0xF0, 0x90, 0x80)) * tf.constant([0, 1, 1])
    high = tf.where(last == 0xF4, 0x8F, 0xBF)
    is_third = tf.constant([True, True, False]) | ((last[:, :1] >= 0x80) & (last[:, :1] <= 0xBF))
    is_unfinished = is_first & (second >= low) & (second <= high) & is_third
    unfinished = tf.cast(is_unfinished, tf.int32) * tf.range(1, 4)
    texts = tf.strings.substr(texts, tf.zeros_like(length), length - tf.reduce_max(unfinished, axis=1))
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


_NOWHERE = 2**31 - 1


def _places(texts: tf.Tensor, wanted: tf.Tensor) -> tf.Tensor:
    """Find where strings first stand in their text: (B,) and (B, n) -> (B, n) int32, in bytes."""
    length = tf.strings.length(wanted)[:, :, None]
    starts = tf.range(tf.reduce_max(tf.strings.length(texts)) + 1)
    shape = tf.concat([tf.shape(wanted), tf.shape(starts)], axis=0)
    whole = tf.broadcast_to(texts[:, None, None], shape)
    within = tf.minimum(tf.broadcast_to(starts, shape), tf.strings.length(whole))
    found = tf.strings.substr(whole, within, tf.broadcast_to(length, shape)) == wanted[:, :, None]
    return tf.reduce_min(tf.where(found & (length > 0), starts, _NOWHERE), axis=2)
