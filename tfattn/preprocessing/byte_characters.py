"""The mapping of bytes to printable characters of GPT-2's files."""

import numpy as np

# Printable bytes of Latin-1 map to themselves, the other bytes in order to characters from U+0100 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _PRINTABLE)
_CODE_POINTS = {byte: byte for byte in _PRINTABLE} | {byte: 0x100 + index for index, byte in enumerate(_OTHERS)}

CHARACTERS = tuple(chr(_CODE_POINTS[byte]) for byte in range(256))
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def bytes_to_unicode(data: bytes) -> str:
    """Convert bytes to printable characters.

    Example:
        >>> written(b"a b")
        'aĠb'
    """
    return "".join(CHARACTERS[byte] for byte in data)


def unicode_to_bytes(token: str) -> bytes | None:
    """Convert printable characters back to bytes; None if any character is not in the mapping.

    Example:
        >>> bytes_of("Ġb")
        b' b'
    """
    values = [_BYTES.get(character) for character in token]
    return None if None in values else bytes(values)


def code_points() -> np.ndarray:
    """Return the code point of each byte: (256,) int32."""
    return np.array([ord(character) for character in CHARACTERS], np.int32)
