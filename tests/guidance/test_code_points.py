"""Sets of characters, and how UTF-8 writes them."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.guidance.code_points import EVERY, LAST, SURROGATES, byte_sequences, common, united, without

CODE = st.one_of(st.integers(0, 0x300), st.integers(0xD7F0, 0xE010), st.integers(0xFFF0, 0x10010), st.integers(0, LAST))
RANGES = st.lists(st.tuples(CODE, st.integers(0, 200)).map(lambda one: (one[0], min(sum(one), LAST))), max_size=4)


def members(ranges):
    return {code for low, high in ranges for code in range(low, high + 1)}


@settings(deadline=None)
@given(RANGES, RANGES)
def test_sets_are_joined_cut_and_taken_away(one, other):
    assert members(united([*one, *other])) == members(one) | members(other)
    assert members(common(one, other)) == members(one) & members(other)
    assert members(without(one, other)) == members(one) - members(other)


@settings(deadline=None)
@given(RANGES)
def test_utf8_writes_each_character_of_a_set_once_and_no_other(ranges):
    written = [
        bytes(value)
        for sequence in byte_sequences(united(ranges))
        for value in itertools.product(*(range(low, high + 1) for low, high in sequence))
    ]
    codes = [code for code in members(ranges) if not SURROGATES[0] <= code <= SURROGATES[1]]
    assert sorted(written) == sorted(chr(code).encode() for code in codes)


def test_every_character_takes_nine_sequences():
    assert len(list(byte_sequences(EVERY))) == 9  # the Unicode Standard, table 3-7
