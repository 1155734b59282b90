"""Messages of Protocol Buffers: round trips, and refusal of damaged messages."""

import pytest

from tfattn.files import protobuf

MESSAGE = protobuf.number_field(1, 300) + protobuf.text_field(2, b"abc") + protobuf.number_field(16, -2)


@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_fields_of_all_types(kind):
    fixed = protobuf.varint(3 << 3 | protobuf.FIXED32) + b"\0\0\x80?" + protobuf.varint(4 << 3 | 1) + bytes(8)
    found = [(number, value) for number, value in protobuf.fields(kind(MESSAGE + fixed))]
    assert found == [(1, 300), (2, b"abc"), (16, 2**64 - 2), (3, b"\0\0\x80?"), (4, bytes(8))]
    assert isinstance(found[1][1], kind)


def test_numbers_are_single_or_packed():
    assert protobuf.numbers(7) == [7]
    assert protobuf.numbers(protobuf.varint(1) + protobuf.varint(1 << 40)) == [1, 1 << 40]


def test_settings_are_signed_and_can_be_replaced():
    assert protobuf.settings(MESSAGE, [1, 2, 16, 17]) == {1: 300, 16: -2}
    assert protobuf.settings(protobuf.with_number(MESSAGE, 16, 5), [16]) == {16: 5}
    assert protobuf.with_number(MESSAGE, 16, -2) == MESSAGE


@pytest.mark.parametrize("content", [MESSAGE[:-1], MESSAGE[:5], b"\x07", b"\x08" + b"\xff" * 20, b"\x12\x7f"])
def test_damaged_messages_are_refused(content):
    with pytest.raises((ValueError, IndexError)):
        list(protobuf.fields(content))
