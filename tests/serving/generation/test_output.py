"""The detokenizer: its strings together are the whole text, for all divisions into tokens."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.serving.generation.output import Detokenizer

BYTES = st.binary() | st.text(alphabet="abé天🎉").map(str.encode)


@given(st.lists(BYTES | st.just(b"")))
def test_strings_are_the_whole_text_and_have_no_incomplete_characters(tokens):
    detokenizer = Detokenizer()
    pieces = [detokenizer.add(token) for token in tokens]
    whole = b"".join(tokens)
    expected = codecs.getincrementaldecoder("utf-8")("replace").decode(whole)  # drops an incomplete character
    assert "".join([*pieces, detokenizer.end()]) == expected
    assert not detokenizer.is_stopped and whole[: detokenizer.num_bytes].decode("utf-8", "replace") == expected


@given(st.text(alphabet="aé天"), st.randoms(use_true_random=False))
def test_a_character_is_returned_with_its_last_byte(text, random):
    detokenizer, returned, given_bytes = Detokenizer(), "", b""
    for byte in text.encode():
        given_bytes += bytes([byte])
        returned += detokenizer.add(bytes([byte]))
        assert returned == given_bytes.decode("utf-8", "ignore")


@given(st.text(alphabet="ab"), st.lists(st.text(alphabet="ab", min_size=1, max_size=4), max_size=3), st.data())
def test_a_text_ends_before_its_first_stop_string_for_all_divisions(text, stops, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    detokenizer, returned = Detokenizer(stops), ""
    for part in parts:
        returned += detokenizer.add(part.encode())
        if detokenizer.is_stopped:
            break
    else:
        returned += detokenizer.end()
    found = [text.find(stop) for stop in stops if stop in text]
    assert detokenizer.is_stopped == bool(found)
    if not found:
        assert returned == text
    else:  # if several stop strings end in one part, the first to start counts
        assert text.startswith(returned) and not any(stop in returned for stop in stops)
        assert min(found) <= len(returned) or returned == text[: min(found)]


@pytest.mark.parametrize(
    "tokens, pieces",
    [
        (["a E", "N", "Dx"], ["a ", "", ""]),
        (["a E", "N", "Es"], ["a ", "", "ENEs"]),
        (["é", "EN", "END"], ["é", "", "EN"]),
    ],
)
def test_a_possible_start_of_a_stop_string_is_held_back(tokens, pieces):
    detokenizer = Detokenizer(["END", "天"])
    assert [detokenizer.add(token.encode()) for token in tokens] == pieces


def test_a_stop_string_across_the_bytes_of_a_character():
    detokenizer = Detokenizer(["天"])
    assert [detokenizer.add(token) for token in (b"ab\xe5", b"\xa4", b"\xa9c")] == ["ab", "", ""]
    assert detokenizer.is_stopped and detokenizer.num_bytes == 2


def test_an_incomplete_character_at_the_end_is_dropped_and_invalid_bytes_are_replaced():
    detokenizer = Detokenizer()
    assert [detokenizer.add(b"a\xe5\xa4"), detokenizer.add(b"b\xff\xe5"), detokenizer.end()] == [
        "a",
        "\ufffdb\ufffd",
        "",
    ]
