"""Metadata in LiteRT files, and files that are not opened."""

import hashlib
import os

import pytest

from tfattn.errors import ServingError
from tfattn.litert.model import LiteRtModel
from tfattn.litert.model_file import add_metadata, parse, read

FILES = {"vocab.txt": "[PAD]\nÉlectronique\n机械\n".encode(), "labels.txt": b"", "blob": bytes(range(256)) * 9}
DESCRIPTION = {"task": "classification", "labels": ["Leak", "机械"]}


@pytest.fixture(scope="module")
def described(content) -> bytes:
    return add_metadata(content, DESCRIPTION, FILES)


def test_metadata_are_read_back(described):
    found = parse(described)
    assert found.description == DESCRIPTION and found.files == FILES


def test_the_model_is_the_same(described, content, inputs, saved):
    model = LiteRtModel(saved(described))
    assert model.description == DESCRIPTION
    for name, values in LiteRtModel(saved(content)).run("serving_default", inputs).items():
        assert (model.run("serving_default", inputs)[name] == values).all()


def test_files_of_other_programs_have_no_metadata(content):
    assert parse(content).description == {} and parse(content).files == {}


def test_metadata_are_replaced(described):
    again = parse(add_metadata(described, {"task": "tagging"}, {"labels.txt": b"B"}))
    assert again.description == {"task": "tagging"} and again.files["labels.txt"] == b"B"


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.9999])
def test_truncated_files(described, part):
    with pytest.raises(ServingError, match="m.tflite: the LiteRT file is truncated or damaged: expected .*Copy the"):
        parse(described[: int(part * len(described))], where="m.tflite")


def test_every_changed_byte_is_found(described):
    for position in range(8, len(described), len(described) // 97):
        changed = bytearray(described)
        changed[position] ^= 0x55
        with pytest.raises(ServingError, match="damaged|not part of LiteRT"):
            parse(bytes(changed))


@pytest.mark.parametrize("text", [b"no JSON", b"[1, 2]"])
def test_a_description_that_is_no_object(content, text):
    described = bytearray(add_metadata(content, {"task": "classification"}, {}))
    start = described.index(b'{"task"')
    described[start : start + 26] = text.ljust(26)
    described[start - 32 : start] = bytes(32)
    described[start - 32 : start] = hashlib.sha256(described).digest()
    with pytest.raises(ServingError, match="truncated or damaged: expected a description in JSON, received b'"):
        parse(bytes(described))


@pytest.mark.parametrize(("other", "received"), [(b"", "0 bytes"), (b"PK\x03\x04ZIP file", "b'ZIP '")])
def test_other_files(other, received, saved):
    with pytest.raises(ServingError, match=f"not a LiteRT model: expected .*TFL3, received {received}"):
        read(saved(other))


def test_a_missing_file(tmp_path):
    with pytest.raises(ServingError, match="there is no LiteRT file: received No such file"):
        read(tmp_path / "model.tflite")


def test_a_file_larger_than_the_memory(tmp_path):
    path = tmp_path / "huge.tflite"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 42)  # without data on the disk
    with pytest.raises(ServingError, match=r"larger than the available memory: expected at most .*precision"):
        read(path)


def test_operations_of_tensorflow_and_custom_operations():
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT()
    model.operatorCodes = [
        schema.OperatorCodeT(deprecatedBuiltinCode=32, builtinCode=32, customCode=name)
        for name in ("FlexErf", "MyOperation")
    ]
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    with pytest.raises(ServingError, match="not part of LiteRT: expected built-in .*received FlexErf, MyOperation"):
        parse(bytes(builder.Output()))
