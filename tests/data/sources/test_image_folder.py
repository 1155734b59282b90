"""Folders of images, on the disk or in an archive: equal rows, and errors with the path."""

import shutil
import tarfile
import zipfile

import pytest

from tests.data.small_images import encoded, picture, write_folder
from tfattn.data.sources.image_folder import ImageFolder
from tfattn.errors import ConfigError, DataError
from tfattn.formats import parts


def found(source, part=None):
    """What rows hold: label, folder and bytes."""
    return [(row.fields["label"], row.fields["folder"], row.fields["image"]) for row in source.rows(part)]


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "photos")


def packed(folder, name):
    """An archive of a folder, in which its own name comes first."""
    target = folder.parent / name
    paths = sorted(folder.rglob("*"))
    if name.endswith(".zip"):
        with zipfile.ZipFile(target, "w") as archive:
            for path in paths:
                archive.write(path, path.relative_to(folder.parent))
    else:
        with tarfile.open(target, "w:" + {"tar": "", "gz": "gz", "bz2": "bz2"}[name.rpartition(".")[2]]) as archive:
            for path in paths:
                archive.add(path, path.relative_to(folder.parent), recursive=False)
    return target


def test_the_folder_is_the_class_and_the_path_is_the_location(folder):
    rows = list(ImageFolder(path=str(folder)).rows())
    assert [row.fields["label"] for row in rows] == ["cat"] * 6 + ["dog"] * 6
    assert rows[1].where == str(folder / "cat/1.png")
    assert rows[1].fields["image"] == (folder / "cat/1.png").read_bytes()
    assert all(row.fields["folder"] == "" for row in rows)


@pytest.mark.parametrize("name", ["p.zip", "p.tar", "p.tar.gz", "p.tar.bz2"])
def test_an_archive_is_read_without_unpacking(folder, name):
    archive = packed(folder, name)
    expected = [(label, "photos", image) for label, _, image in found(ImageFolder(path=str(folder)))]
    shutil.rmtree(folder)
    source = ImageFolder(path=str(archive))
    assert found(source) == expected
    assert [row for part in source.parts() for row in found(source, part)] == expected
    assert next(source.rows()).where == f"{archive}/photos/cat/0.jpeg"
    assert [path.name for path in archive.parent.iterdir()] == [name], "nothing is unpacked"


def test_parts_are_the_whole_and_depend_only_on_the_folder(folder, monkeypatch):
    source = ImageFolder(path=str(folder))
    whole = found(source)
    assert len(list(source.parts())) == 2
    monkeypatch.setattr(parts, "PART_BYTES", 1200)
    some = list(source.parts())
    assert 4 < len(some) < 12 and some == list(source.parts())
    assert [row for part in some for row in found(source, part)] == whole
    (folder / "cat/0.jpeg").write_bytes(encoded(picture(77), quality=5))
    with pytest.raises(DataError, match="cat: the folder changes while it is read"):
        list(source.rows(some[0]))


def test_the_fingerprint_does_not_depend_on_the_location(folder, tmp_path):
    before = ImageFolder(path=str(folder)).fingerprint()
    moved = tmp_path / "moved"
    folder.rename(moved)
    assert ImageFolder(path=str(moved)).fingerprint() == before
    (moved / "dog/0.jpeg").rename(moved / "cat/9.jpeg")
    assert ImageFolder(path=str(moved)).fingerprint() != before


def test_nested_folders_are_named(tmp_path):
    for number, split in enumerate(("train", "test")):
        write_folder(tmp_path / "all" / split, each=2, begin=10 * number)
    for path in (tmp_path / "all", packed(tmp_path / "all", "all.tar.gz")):
        inside = "" if path.suffix == "" else "all/"
        with pytest.raises(
            DataError, match=rf"several locations: .*received {inside}test, {inside}train\. Set `inside: {inside}train`"
        ):
            list(ImageFolder(path=str(path)).rows())
        train = found(ImageFolder(path=str(path), inside=f"{inside}train"))
        assert [(label, folder) for label, folder, _ in train] == [("cat", f"{inside}train")] * 2 + [
            ("dog", f"{inside}train")
        ] * 2
        both = found(ImageFolder(path=str(path), inside=[f"{inside}train", f"{inside}test"]))
        assert {folder for _, folder, _ in both} == {f"{inside}train", f"{inside}test"} and len(both) == 8
        with pytest.raises(DataError, match=f"there is no image in trian: .*received {inside}test, {inside}train"):
            list(ImageFolder(path=str(path), inside="trian").rows())


def test_several_roots_are_read_in_order(tmp_path):
    roots = [write_folder(tmp_path / name, each=2, begin=begin) for begin, name in enumerate(("a", "b"))]
    rows = found(ImageFolder(path=[str(root) for root in roots]))
    assert [label for label, _, _ in rows] == ["cat", "cat", "dog", "dog"] * 2


@pytest.mark.parametrize("inside_archive", [False, True])
def test_invalid_images_are_reported_with_path_or_skipped(tmp_path, inside_archive):
    folder = write_folder(tmp_path / "photos")
    whole = encoded(picture(5, height=200, width=200))
    (folder / "cat/2.jpeg").write_bytes(whole[: len(whole) // 2])
    path = packed(folder, "photos.tar.gz") if inside_archive else folder
    prefix = f"{path}/photos" if inside_archive else path
    with pytest.raises(DataError) as error:
        list(ImageFolder(path=str(path)).rows())
    said = str(error.value)
    assert said.startswith(f"{prefix}/cat/2.jpeg: the image is damaged") and "`damaged: leave_out`" in said
    assert "\n" not in said and "{{" not in said
    images = [image for _, _, image in found(ImageFolder(path=str(path), damaged="leave_out"))]
    assert [place for place, image in enumerate(images) if image is None] == [2] and len(images) == 12


def test_a_huge_image_and_other_kinds_are_refused(folder):
    (folder / "dog/9.webp").write_bytes(encoded(picture(), "WEBP"))
    with pytest.raises(DataError, match="dog/9.webp: the file is not a supported image: .*received WebP"):
        list(ImageFolder(path=str(folder)).rows())
    (folder / "dog/9.webp").write_bytes(encoded(picture(), "PNG"))
    with pytest.raises(DataError, match="0.jpeg: the image is too large.*at most 10 pixels, received 16 x 12"):
        list(ImageFolder(path=str(folder), max_side=10).rows())


def test_other_files_and_hidden_files_are_skipped(folder):
    expected = found(ImageFolder(path=str(folder)))
    (folder / "README.txt").write_text("about")
    (folder / "cat/Thumbs.db").write_bytes(b"x")
    (folder / "cat/._1.png").write_bytes(b"x")
    (folder / "__MACOSX/cat").mkdir(parents=True)
    (folder / "__MACOSX/cat/1.png").write_bytes(b"x")
    assert found(ImageFolder(path=str(folder))) == expected
    archive = packed(folder, "photos.zip")
    assert [image for _, _, image in found(ImageFolder(path=str(archive)))] == [image for _, _, image in expected]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (shutil.rmtree, "photos: there is no such folder: .*received nothing"),
        (lambda folder: shutil.rmtree(folder / "dog"), "photos: there is only one folder of a class: .*received cat"),
        (lambda folder: (folder / "bird").mkdir(), "photos: folders of classes without an image: .*received bird"),
        (
            lambda folder: [path.unlink() for path in folder.rglob("*.*")],
            "photos: there is no image: expected a folder of images for each of at least two classes",
        ),
        (
            lambda folder: (folder / "1.jpg").write_bytes(encoded(picture())),
            "photos/1.jpg: the image is in no folder of a class",
        ),
    ],
)
def test_folders_without_classes_are_refused(folder, change, message):
    change(folder)
    with pytest.raises(DataError, match=message):
        list(ImageFolder(path=str(folder)).parts())


def test_invalid_archives_are_refused(tmp_path):
    folder = write_folder(tmp_path / "photos", classes=("cat",))
    with pytest.raises(DataError, match="p.zip: there is only one folder of a class: .*received cat"):
        list(ImageFolder(path=str(packed(folder, "p.zip"))).rows())
    archive = packed(write_folder(tmp_path / "photos", each=40), "p.tar.gz")
    archive.write_bytes(archive.read_bytes()[:9000])
    with pytest.raises(DataError, match="p.tar.gz"):
        list(ImageFolder(path=str(archive)).rows())
    (tmp_path / "p.zip").write_bytes(b"no archive")
    with pytest.raises(DataError, match="p.zip: the archive cannot be read"):
        list(ImageFolder(path=str(tmp_path / "p.zip")).rows())
    with pytest.raises(ConfigError, match="no folder is named"):
        ImageFolder(path=[])
