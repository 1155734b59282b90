"""Bytes written as printable characters, as in GPT-2's files: any bytes at all are then a text without blanks."""

import numpy as np

# Those that are printable in Latin-1 stand for themselves, the others in their order for characters from U+0100 on.
_THEMSELVES = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _THEMSELVES)
_CODE_POINTS = {byte: byte for byte in _THEMSELVES} | {byte: 0x100 + place for place, byte in enumerate(_OTHERS)}

CHARACTERS = tuple(chr(_CODE_POINTS[byte]) for byte in range(256))
_BYTES = {character: byte for byte, character in enumerate(CHARACTERS)}


def written(data: bytes) -> str:
    """Write bytes as printable characters.

    Example:
        >>> written(b"a b")
        'aĠb'
    """
    return "".join(CHARACTERS[byte] for byte in data)


def bytes_of(token: str) -> bytes | None:
    """Read back what `written` wrote; None for a text with any other character.

    Example:
        >>> bytes_of("Ġb")
        b' b'
    """
    found = [_BYTES.get(character) for character in token]
    return None if None in found else bytes(found)


def code_points() -> np.ndarray:
    """Return the code point of each byte: (256,) int32."""
    return np.array([ord(character) for character in CHARACTERS], np.int32)
