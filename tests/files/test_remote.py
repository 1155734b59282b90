"""Files at an address are read as those of this machine; TensorFlow's own ram:// stands for a bucket."""

import pytest
import tensorflow as tf

from tfattn.files import RemotePath, path_of, sha256


@pytest.fixture
def write(request):
    """Writes bytes to an address, and returns it."""

    def written(name: str, content: bytes) -> str:
        address = f"ram://{request.node.name}/{name}"
        with tf.io.gfile.GFile(address, "wb") as file:
            file.write(content)
        return address

    return written


def test_a_path_of_this_machine_is_told_from_an_address(tmp_path):
    assert isinstance(path_of("gs://bucket/rows.csv"), RemotePath)
    assert path_of("gs://bucket/rows.TSV").suffix == ".TSV"
    assert path_of(str(tmp_path)) == tmp_path
    assert path_of(path_of("s3://bucket/rows")) == RemotePath("s3://bucket/rows")


def test_bytes_are_read_from_any_place(write, tmp_path):
    content = bytes(range(256)) * 20_000  # more than is read at once
    address = write("bytes", content)
    (tmp_path / "bytes").write_bytes(content)
    with path_of(address).open("rb") as file:
        assert file.read() == content
        file.seek(3_000_000)
        assert (file.read(5), file.tell()) == (content[3_000_000:3_000_005], 3_000_005)
        file.seek(4)
        assert file.readline() == content[4:11]
    assert sha256(address) == sha256(tmp_path / "bytes")
    assert path_of(address).stat().st_size == len(content)


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("ram://nowhere/rows.csv", FileNotFoundError, "No such file"),
        ("s3://bucket/rows.csv", OSError, "does not support s3:// here; tensorflow-io adds"),
    ],
)
def test_what_cannot_be_read_is_an_error_as_of_any_file(address, error, message):
    for look in (lambda path: path.stat(), lambda path: path.open("rb")):
        with pytest.raises(error, match=message):
            look(path_of(address))
