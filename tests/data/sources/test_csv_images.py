"""Tables of image paths, relative to the folder of the table."""

import pytest

from tests.data.small_images import encoded, picture
from tfattn.data.sources.csv_images import CsvImages
from tfattn.errors import ConfigError, DataError

FIELDS = {"image": "file", "label": "class"}


@pytest.fixture
def table(tmp_path):
    (tmp_path / "photos").mkdir()
    for number in range(3):
        (tmp_path / f"photos/{number}.png").write_bytes(encoded(picture(number), "PNG"))
    path = tmp_path / "photos.csv"
    path.write_text("file,class,by\n" + "".join(f"photos/{n}.png,{'ab'[n % 2]},me\n" for n in range(3)))
    return path


def test_rows_have_the_bytes_and_other_columns(table):
    source = CsvImages(path=str(table), fields={**FIELDS, "author": "by"})
    rows = list(source.rows())
    assert [row.fields["image"] for row in rows] == [encoded(picture(number), "PNG") for number in range(3)]
    assert [row.fields["label"] for row in rows] == ["a", "b", "a"] and rows[0].fields["author"] == "me"
    assert rows[1].where == f"{table}:3"
    assert [row for part in source.parts() for row in source.rows(part)] == rows


def test_names_may_be_relative_to_another_folder(table):
    table = table.rename(table.parent / "photos" / "list.csv")
    with pytest.raises(
        DataError, match=r"list.csv:2: cannot read the image .*counted from .*photos, received 'photos/0"
    ):
        list(CsvImages(path=str(table), fields=FIELDS).rows())
    source = CsvImages(path=str(table), fields=FIELDS, folder=str(table.parent.parent))
    assert len(list(source.rows())) == 3


def test_the_fingerprint_is_that_of_table_and_images(table):
    source = CsvImages(path=str(table), fields=FIELDS)
    before = source.fingerprint()
    (table.parent / "photos/1.png").write_bytes(encoded(picture(9), "PNG"))
    assert source.fingerprint() != before


def test_missing_and_damaged_images_are_refused_or_skipped(table):
    (table.parent / "photos/1.png").write_bytes(b"none")
    with table.open("a") as file:
        file.write("photos/9.png,a,me\n,a,me\n")
    with pytest.raises(DataError, match=r"photos.csv:3: .*photos/1.png: the file is not a supported image"):
        list(CsvImages(path=str(table), fields=FIELDS).rows())
    rows = list(CsvImages(path=str(table), fields=FIELDS, damaged="leave_out").rows())
    assert [row.fields["image"] is None for row in rows] == [False, True, False, True, True]
    with pytest.raises(ConfigError, match="no column is given for `image`"):
        CsvImages(path=str(table), fields={"label": "class"})
