"""Prepared images: records equal the preprocessing, in each record format."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.data.small_images import encoded, picture, write_folder
from tfattn.data.augmentation import Augmentation
from tfattn.data.batching import Batching
from tfattn.data.engines.local_engine import Local
from tfattn.data.examples.class_targets import Classes
from tfattn.data.examples.examples import Examples
from tfattn.data.examples.transforms import FromRecords
from tfattn.data.preparation.prepare import prepare
from tfattn.data.preparation.summary import read_summary
from tfattn.data.reader import Reader
from tfattn.data.section import Data
from tfattn.data.sources.image_folder import ImageFolder
from tfattn.data.sources.raw_rows import read_rows
from tfattn.data.split_config import Split
from tfattn.errors import ConfigError
from tfattn.formats.csv_files import CsvFile
from tfattn.preprocessing.images import Images
from tfattn.preprocessing.table import TableColumns


def section(folder, *, damaged="refuse", keep="pixels", processes=1, **split):
    return Data(
        source=ImageFolder(path=str(folder), damaged=damaged),
        preprocessing=Images(size=[8, 10], keep=keep),
        batching=Batching(batch_size=4),
        split=Split(**split or {"validation": 0.25}),
        targets=Classes(),
        examples=Examples(),
        engine=Local(processes=processes),
    )


@pytest.mark.parametrize("keep", ["pixels", "files"])
def test_batches_equal_the_preprocessed_files(tmp_path, keep):
    data = section(write_folder(tmp_path / "photos", each=8), keep=keep)
    prepare(data, tmp_path / "prepared", 7)
    rows = read_rows(tmp_path / "prepared", "validation")
    assert len(rows) == 4
    reader = Reader(
        tmp_path / "prepared",
        "validation",
        batching=Batching(batch_size=4),
        seed=1,
        shuffle=False,
        transforms=[FromRecords(data.preprocessing)],
    )
    [batch] = reader.dataset(0)
    assert reader.inputs == ("images",) and reader.targets == ("label_ids",)
    expected = data.preprocessing({"image": tf.constant([row["image"] for row in rows])})["images"]
    np.testing.assert_array_equal(batch["images"], expected)
    labels = data.targets.facts["labels"]
    assert [labels[number] for number in batch["label_ids"].numpy()] == [row["label"] for row in rows]


def test_raw_rows_have_files_as_requests_do(tmp_path):
    folder = write_folder(tmp_path / "photos", each=4)
    prepare(section(folder), tmp_path / "prepared", 7)
    lines = (tmp_path / "prepared/validation.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["image"].keys() == {"b64"}
    for row in read_rows(tmp_path / "prepared", "validation"):
        assert row["image"] == Path(row["row"]).read_bytes() and row["folder"] == ""


def test_skipped_images_are_counted_and_equal_images_reported(tmp_path, capsys):
    folder = write_folder(tmp_path / "photos", each=6)
    (folder / "cat/0.jpeg").write_bytes(b"none")
    (folder / "dog/9.png").write_bytes((folder / "cat/1.png").read_bytes())
    prepare(section(folder, damaged="leave_out"), tmp_path / "prepared", 7)
    summary = read_summary(tmp_path / "prepared")
    assert summary["missing"]["image"]["first"] == [str(folder / "cat/0.jpeg")]
    assert summary["made_of"] == "images" and sum(summary["rows"].values()) == 12
    assert summary["missing"]["image"]["rows"] == 1
    assert summary["conflicts"]["rows"] == 2 and str(folder / "dog/9.png") in summary["conflicts"]["first"]
    said = capsys.readouterr()
    assert "left out: no image that can be read" in said.out + said.err


def test_several_processes_prepare_equal_files(tmp_path):
    folder = write_folder(tmp_path / "photos", each=5)
    prepare(section(folder), tmp_path / "one", 7)
    prepare(section(folder, processes=2), tmp_path / "two", 7)
    for path in (tmp_path / "one").rglob("*.tfrecord"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_folder_is_held_out(tmp_path):
    for number, name in enumerate(("train", "test")):
        write_folder(tmp_path / "photos" / name, each=5, begin=100 * number)
    data = Data(
        source=ImageFolder(path=str(tmp_path / "photos"), inside=["train", "test"]),
        preprocessing=Images(size=8),
        batching=Batching(batch_size=4),
        split=Split(validation=0.2, hold_out={"folder": ["test"]}),
        targets=Classes(),
        examples=Examples(),
    )
    prepare(data, tmp_path / "prepared", 7)
    assert {row["folder"] for row in read_rows(tmp_path / "prepared", "test")} == {"test"}
    assert read_summary(tmp_path / "prepared")["rows"] == {"train": 8, "validation": 2, "test": 10}


def test_only_images_are_augmented(tmp_path):
    parts = {"batching": Batching(batch_size=4), "split": Split(), "targets": Classes()}
    with pytest.raises(ConfigError, match="there are no images to change"):
        source = CsvFile(path="none.csv", fields={"a": "a", "label": "b"})
        table = TableColumns(categorical=("a",))
        augmentation = Augmentation(flip="random")
        Data(source=source, preprocessing=table, examples=Examples(), augmentation=augmentation, **parts)


def test_an_unreadable_image_is_reported(tmp_path):
    folder = write_folder(tmp_path / "photos")
    data = section(folder)
    (folder / "cat/0.jpeg").write_bytes(encoded(picture(3))[:200])
    with pytest.raises(Exception, match="cat/0.jpeg: the image is damaged"):
        prepare(data, tmp_path / "prepared", 7)
    assert not (tmp_path / "prepared").exists()
