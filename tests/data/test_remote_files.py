"""Sources at an address: rows, parts, fingerprints and errors equal those of local files."""

import pytest
import tensorflow as tf

from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.sources.parallel_files import ParallelFiles
from tfattn.errors import DataError
from tfattn.formats import parts
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile

CONTENTS = {
    "rows.csv": "x,y\n" + "".join(f'"no {number}\n",{number}\n' for number in range(20)),
    "rows.jsonl": "".join(f'{{"x": "é{number}", "y": null}}\n' for number in range(20)),
    "rows.txt": "".join(f"{number}\n" for number in range(40)),
}


def sources(folder):
    return (
        CsvFile(path=f"{folder}/rows.csv", fields={"x": "x", "y": "y"}),
        JsonLinesFile(path=f"{folder}/rows.jsonl", fields={"x": "x", "y": "y"}),
        ParallelFiles(path=f"{folder}/rows.txt", target_path=f"{folder}/rows.txt"),
    )


@pytest.fixture
def bucket(tmp_path):
    """A folder in TensorFlow's memory that holds what `tmp_path` holds."""
    address = f"ram://{tmp_path.name}"
    for name, content in CONTENTS.items():
        (tmp_path / name).write_text(content)
        with tf.io.gfile.GFile(f"{address}/{name}", "w") as file:
            file.write(content)
    return address


def test_rows_parts_and_fingerprints_are_those_of_a_local_file(bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", 64)
    for remote, local in zip(sources(bucket), sources(tmp_path), strict=True):
        assert remote.fingerprint() == local.fingerprint()
        found = list(remote.parts())
        assert found == list(local.parts()) and len(found) > 1
        for part in [None, *found]:
            assert [row.fields for row in remote.rows(part)] == [row.fields for row in local.rows(part)]
    assert next(remote.rows()).where == f"{bucket}/rows.txt:1"


def test_patterns_name_files_at_an_address(bucket, tmp_path):
    remote, local = (DocumentFiles(path=f"{folder}/*.txt", max_sentences=7) for folder in (bucket, tmp_path))
    assert [row.fields for row in remote.rows()] == [row.fields for row in local.rows()]
    assert next(remote.parts()).path == f"{bucket}/rows.txt"


def test_a_change_is_detected(bucket):
    source, *_ = sources(bucket)
    [part] = source.parts()
    tf.io.gfile.remove(f"{bucket}/rows.csv")  # ram:// appends to what is there
    with tf.io.gfile.GFile(f"{bucket}/rows.csv", "w") as file:
        file.write(CONTENTS["rows.csv"].replace("no", "oh"))
    with pytest.raises(DataError, match=f"{bucket}/rows.csv: the file changes while it is read"):
        list(source.rows(part))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ram://nowhere/rows.csv", "cannot read the file .No such file or directory.. Check `path`"),
        ("s3://bucket/rows.csv", "cannot read the file .TensorFlow does not support s3:// here"),
    ],
)
def test_unreadable_files_are_a_single_message(address, message):
    with pytest.raises(DataError, match=f"{address}: {message}"):
        list(CsvFile(path=address, fields={"x": "x"}).rows())
    with pytest.raises(DataError, match=message):
        CsvFile(path=address, fields={"x": "x"}).fingerprint()


def test_a_folder_is_not_a_file(tmp_path):
    tf.io.gfile.makedirs(f"ram://{tmp_path.name}/rows.csv")
    with pytest.raises(DataError, match="not a regular file: .*received a folder"):
        list(CsvFile(path=f"ram://{tmp_path.name}/rows.csv", fields={"x": "x"}).rows())
