"""Bytes that a model has written, as text."""

import codecs
import itertools

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.export.stop_strings import complete_characters, cut_at_stop
from tfattn.serving.generation.output import Detokenizer

# Bytes at which it is decided what may follow which.
EDGES = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF]
EDGES += [0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]


def as_python(text: bytes) -> str:
    """What a decoder knows that waits for the rest of a character."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(text)


def check(texts):
    found = complete_characters(tf.constant(texts)).numpy().tolist()
    assert [text.decode() for text in found] == [as_python(text) for text in texts]


def test_half_a_character_at_the_end_is_dropped_and_what_is_none_replaced():
    check([b"a" + bytes(ending) for count in range(4) for ending in itertools.product(EDGES, repeat=count)])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=12) | st.text(max_size=5).map(str.encode), min_size=1, max_size=20))
def test_any_bytes_are_the_text_that_a_stream_tells(texts):
    check(texts)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text("ab\xe9", max_size=3).map(str.encode) | st.binary(max_size=2), max_size=12),
    st.lists(st.text("ab\xe9", min_size=1, max_size=4), max_size=3),
)
def test_a_stop_string_cuts_a_text_where_a_stream_ends(tokens, stops):
    detokenizer, streamed = Detokenizer(stops), ""
    for token in tokens:
        streamed += detokenizer.add(token)
        if detokenizer.is_stopped:
            break
    else:
        streamed += detokenizer.end()
    cut, is_stopped = cut_at_stop(tf.constant([b"".join(tokens)]), tf.constant([[*stops, ""]]))
    assert complete_characters(cut).numpy()[0].decode() == streamed
    assert bool(is_stopped[0]) == detokenizer.is_stopped
