"""Text as it becomes certain: the pieces are the whole, whatever the tokens are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.serving.generation.text_writer import TextWriter

BYTES = st.binary() | st.text(alphabet="abé天🎉").map(str.encode)


@given(st.lists(BYTES | st.just(b"")))
def test_pieces_are_the_whole_text_and_never_half_a_character(tokens):
    writer = TextWriter()
    pieces = [writer.add(token) for token in tokens]
    whole = b"".join(tokens)
    assert "".join([*pieces, writer.end()]) == whole.decode("utf-8", "replace")
    assert writer.num_bytes == len(whole) and not writer.is_stopped


@given(st.text(alphabet="aé天"), st.randoms(use_true_random=False))
def test_a_character_is_told_with_its_last_byte(text, random):
    writer, told, given_bytes = TextWriter(), "", b""
    for byte in text.encode():
        given_bytes += bytes([byte])
        told += writer.add(bytes([byte]))
        assert told == given_bytes.decode("utf-8", "ignore")


@given(st.text(alphabet="ab"), st.lists(st.text(alphabet="ab", min_size=1, max_size=4), max_size=3), st.data())
def test_a_text_ends_before_its_first_stop_string_however_it_is_divided(text, stops, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    writer, told = TextWriter(stops), ""
    for part in parts:
        told += writer.add(part.encode())
        if writer.is_stopped:
            break
    else:
        told += writer.end()
    found = [text.find(stop) for stop in stops if stop in text]
    assert writer.is_stopped == bool(found)
    if not found:
        assert told == text
    else:  # where several end in one part, the one that begins first counts
        assert text.startswith(told) and not any(stop in told for stop in stops)
        assert min(found) <= len(told) or told == text[: min(found)]


@pytest.mark.parametrize(
    "tokens, pieces",
    [
        (["a E", "N", "Dx"], ["a ", "", ""]),
        (["a E", "N", "Es"], ["a ", "", "ENEs"]),
        (["é", "EN", "END"], ["é", "", "EN"]),
    ],
)
def test_what_may_become_a_stop_string_is_held_back(tokens, pieces):
    writer = TextWriter(["END", "天"])
    assert [writer.add(token.encode()) for token in tokens] == pieces


def test_a_stop_string_across_the_bytes_of_a_character():
    writer = TextWriter(["天"])
    assert [writer.add(token) for token in (b"ab\xe5", b"\xa4", b"\xa9c")] == ["ab", "", ""]
    assert writer.is_stopped and writer.num_bytes == 2


def test_half_a_character_at_the_end_is_replaced():
    writer = TextWriter()
    assert [writer.add(b"a\xe5\xa4"), writer.end()] == ["a", "�"]
