"""Images are named as a folder, a pattern, one of them or rows of a file; what cannot be read has a line of its own."""

import json

import pytest

from tests.data.small_images import encoded, picture, write_folder
from tfattn.errors import DataError, RefusedError
from tfattn.formats.training_file import TrainingFile
from tfattn.serving.client.image_rows import named_by
from tfattn.serving.client.predict import predict


class Sizes:
    """Answers how many bytes an image has, and refuses small ones."""

    trained_on = TrainingFile({"image": "file"})
    numeric = lists = frozenset()
    files = frozenset({"image"})
    writes_text = False

    def predict(self, rows, *, signature=""):
        if any(len(row["image"]) < 200 for row in rows):
            raise RefusedError("refused", received="assertion failed: [image 1 is too small]")
        return [{"size": len(row["image"])} for row in rows]


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "photos", each=2)


def predicted(path, output) -> list[dict]:
    predict(Sizes(), str(path), str(output))
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_folders_patterns_and_single_images(folder, tmp_path):
    every = [folder / name for name in ("cat/0.jpeg", "cat/1.png", "dog/0.jpeg", "dog/1.png")]
    expected = [{"image": str(path), "size": path.stat().st_size} for path in every]
    (folder / "notes.txt").write_text("no image")
    assert predicted(folder, tmp_path / "a.jsonl") == expected
    assert predicted(folder / "*/1.png", tmp_path / "b.jsonl") == expected[1::2]
    assert predicted(every[2], tmp_path / "c.jsonl") == expected[2:3]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.csv", "file,other\ncat/0.jpeg,x\ndog/1.png,y\n"),
        ("list.txt", "cat/0.jpeg\ndog/1.png\n"),
        ("list.jsonl", '{"file": "cat/0.jpeg"}\n{"image": "dog/1.png"}\n'),
    ],
)
def test_rows_of_a_file_count_from_its_folder(folder, tmp_path, name, content):
    (folder / name).write_text(content)
    rows = predicted(folder / name, tmp_path / "a.jsonl")
    sizes = [(folder / path).stat().st_size for path in ("cat/0.jpeg", "dog/1.png")]
    assert rows == [{"image": "cat/0.jpeg", "size": sizes[0]}, {"image": "dog/1.png", "size": sizes[1]}]


def test_what_cannot_be_read_has_a_line_that_says_why(folder, tmp_path):
    (folder / "small.png").write_bytes(encoded(picture(height=1, width=1), "PNG"))
    (folder / "none.jpg").write_text("no image")
    (folder / "list.txt").write_text("cat/0.jpeg\nmissing.jpg\nnone.jpg\nsmall.png\n\ndog/0.jpeg\n")
    with pytest.raises(DataError, match="4 of 6 rows have no prediction"):
        predict(Sizes(), str(folder / "list.txt"), str(tmp_path / "a.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert ["size" in row for row in rows] == [True, False, False, False, False, True]
    assert f"{folder / 'list.txt'}:2: cannot read the image (No such file or directory)" in rows[1]["error"]
    assert "none.jpg: the file is not a supported image" in rows[2]["error"]
    assert rows[3]["error"].endswith("the model refuses the row: received image 1 is too small")


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(DataError, match="there are no images"):
        named_by(str(tmp_path))
    with pytest.raises(DataError, match="there are no images"):
        named_by(str(tmp_path / "*.jpg"))
    assert named_by("rows.csv") is None and named_by("-") is None
