"""GGUF headers: damaged or oversized headers give an error without allocation."""

import struct
import tracemalloc

import numpy as np
import pytest

from tfattn.errors import CheckpointError
from tfattn.pretrained.gguf_header import read_header

pytest.importorskip("gguf", reason="needs the extra `pretrained`")

HUGE = 2**62


def text(value, length=None):
    content = value.encode()
    return struct.pack("<Q", len(content) if length is None else length) + content


def value(name, kind, content):
    return text(name) + struct.pack("<I", kind) + content


def array(kind, count, content=b""):
    return struct.pack("<IQ", kind, count) + content


def tensor(name="t", axes=(4, 2), quantization=0, offset=0, num_axes=None):
    counts = struct.pack("<I", len(axes) if num_axes is None else num_axes) + struct.pack(f"<{len(axes)}Q", *axes)
    return text(name) + counts + struct.pack("<IQ", quantization, offset)


def head(values=(), tensors=(), *, num_tensors=None, num_values=None, version=3):
    counts = (len(tensors) if num_tensors is None else num_tensors, len(values) if num_values is None else num_values)
    return b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join([*values, *tensors])


def padded(header, *, content=32, alignment=32):
    return header + bytes(-len(header) % alignment) + bytes(content)


def test_values_and_locations(tmp_path):
    values = [
        value("word", 8, text("näme")),
        value("small", 6, struct.pack("<f", 1e-5)),
        value("words", 9, array(8, 2, text("a") + text(""))),
        value("numbers", 9, array(5, 3, struct.pack("<3i", 1, -2, 3))),
        value("general.alignment", 4, struct.pack("<I", 64)),
    ]
    content = padded(head(values, [tensor(), tensor("u", axes=(32,), quantization=8, offset=64)]), alignment=64)
    (tmp_path / "a.gguf").write_bytes(content + bytes(66))
    header = read_header(tmp_path / "a.gguf")
    assert (header.metadata["word"], header.metadata["small"], header.metadata["words"]) == ("näme", 1e-5, ["a", ""])
    np.testing.assert_array_equal(header.metadata["numbers"], [1, -2, 3])
    begin = len(content) - 32
    assert begin % 64 == 0
    one, other = header.tensors["t"], header.tensors["u"]
    assert (one.shape, one.start, one.size) == ((2, 4), begin, 32)
    assert (other.shape, other.start, other.size) == ((32,), begin + 64, 34)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as GGUF"),
        (b"GGU", "the file ends within its header"),
        (b"\x80\x04 pickled", "no GGUF file"),
        (head(version=1), "another version of GGUF, .* expected 2 or 3, received 1"),
        (head(version=3 << 24), "another version of GGUF, or of another byte order"),
        (head(num_values=HUGE), "the file ends within its header"),
        (head(num_tensors=HUGE), "the file ends within its header"),
        (head([text("x", HUGE)]), "the file ends within its header: expected 4,611,686,018,427,387,904 bytes"),
        (head([value("x", 9, array(5, HUGE))]), "the file ends within its header"),
        (head([value("x", 9, array(8, HUGE))]), "the file ends within its header"),
        (head([value("x", 9, array(9, HUGE))]), "an array: the header is damaged: expected numbers or strings"),
        (head([value("x", 99, b"")]), "a value: the header is damaged"),
        (head(tensors=[tensor(num_axes=10**9)]), "tensor t: the header is damaged: expected at most 4 axes"),
        (padded(head(tensors=[tensor(), tensor()])), "tensor t: the header is damaged: expected every name once"),
        (head([value("x", 7, b"\1")] * 2), "x: the header is damaged: expected every key once"),
        (padded(head(tensors=[tensor(offset=8)]), content=64), "tensor t: .* an offset that is a multiple of 32, rec"),
        (
            padded(head(tensors=[tensor(), tensor("u", axes=(32, 2), offset=0)]), content=999),
            "tensor u: .* a first byte after the bytes of t",
        ),
        (head(tensors=[tensor(axes=())]), "tensor t: the header is damaged"),
        (head(tensors=[tensor(axes=(0, 4))]), "tensor t: the header is damaged"),
        (head(tensors=[tensor(axes=(33,), quantization=8)]), "expected rows of one or more blocks of 32 values"),
        (head(tensors=[tensor(quantization=77)]), "t: an unknown quantization.*received 77. Install a newer"),
        (padded(head(tensors=[tensor(axes=(HUGE, HUGE))])), "t: the file is shorter than its tensors"),
        (padded(head(tensors=[tensor(offset=HUGE)])), "t: the file is shorter than its tensors"),
        (padded(head(tensors=[tensor()]), content=31), "shorter than its tensors: expected .* Download it again"),
        (head([value("general.alignment", 4, bytes(4))]), "general.alignment: the header is damaged"),
    ],
)
def test_damaged_or_oversized_headers_are_refused(tmp_path, content, message):
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=f"a.gguf.*{message}"):
        _with_little_memory(path)


def test_truncated_files_are_refused(tmp_path):
    whole = padded(head([value("x", 9, array(8, 2, text("ab") + text("c")))], [tensor()]))
    path = tmp_path / "a.gguf"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError):
            _with_little_memory(path)


def _with_little_memory(path):
    tracemalloc.start()
    try:
        read_header(path)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**20
