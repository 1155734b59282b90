"""Remote files are read like local files; TensorFlow's ram:// replaces a bucket."""

import pytest
import tensorflow as tf

from tfattn.files import RemotePath, path_of, sha256


@pytest.fixture
def write(request):
    """Return a function that writes bytes to an address and returns the address."""

    def written(name: str, content: bytes) -> str:
        address = f"ram://{request.node.name}/{name}"
        with tf.io.gfile.GFile(address, "wb") as file:
            file.write(content)
        return address

    return written


def test_addresses_are_remote_paths(tmp_path):
    assert isinstance(path_of("gs://bucket/rows.csv"), RemotePath)
    assert path_of("gs://bucket/rows.TSV").suffix == ".TSV"
    assert path_of(str(tmp_path)) == tmp_path
    assert path_of(path_of("s3://bucket/rows")) == RemotePath("s3://bucket/rows")


def test_bytes_are_read_from_any_position(write, tmp_path):
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
def test_remote_errors_are_os_errors(address, error, message):
    for look in (lambda path: path.stat(), lambda path: path.open("rb")):
        with pytest.raises(error, match=message):
            look(path_of(address))
