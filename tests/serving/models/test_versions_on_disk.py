"""Which folders are versions, and which of them a policy wants."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from google.protobuf import text_format
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.files import write_manifest
from tfattn.litert import decoder_file
from tfattn.serving.models import versions_on_disk
from tfattn.serving.models.versions_on_disk import Policy, scan


def write(base: Path, *names: str, complete: bool = True) -> None:
    for name in names:
        (base / name / "variables").mkdir(parents=True)
        (base / name / "variables/variables.index").write_text("index")
        if complete:
            (base / name / "saved_model.pb").write_text("graph")


def policy(text: str = "") -> Policy:
    return text_format.Parse(text, Policy())


def wanted(base: Path, text: str = "") -> dict[int, str]:
    return {number: found.folder.name for number, found in scan(base, policy(text)).wanted.items()}


def test_only_folders_named_by_numbers_are_versions(tmp_path):
    write(tmp_path, "00000123", "7", "v8", "9.5", "-3", "+4", "٣", "newest", str(2**63), ".10.tmp")
    (tmp_path / "11").write_text("a file")
    assert wanted(tmp_path, "all {}") == {7: "7", 123: "00000123"}


def test_the_policy_chooses(tmp_path):
    write(tmp_path, "1", "2", "10", "03")
    assert list(wanted(tmp_path)) == [10]
    assert list(wanted(tmp_path, "latest {}")) == [10]
    assert list(wanted(tmp_path, "latest { num_versions: 2 }")) == [3, 10]
    assert list(wanted(tmp_path, "latest { num_versions: 9 }")) == [1, 2, 3, 10]
    assert list(wanted(tmp_path, "all {}")) == [1, 2, 3, 10]
    assert list(wanted(tmp_path, "specific { versions: 3 versions: 1 versions: 99 }")) == [1, 3]


def test_a_decoder_for_litert_alone_is_there_once_all_its_files_are(tmp_path):
    folder = tmp_path / "1"
    write(tmp_path, "1", complete=False)
    (folder / decoder_file.FOLDER).mkdir(parents=True)
    (folder / decoder_file.FOLDER / decoder_file.FILES["int8"]).write_text("graph")
    assert wanted(tmp_path) == {}
    write_manifest(folder)
    assert wanted(tmp_path) == {1: "1"}
    (folder / "variables/variables.index").unlink()
    assert wanted(tmp_path) == {}
    write(tmp_path, "2")
    write_manifest(tmp_path / "2")
    (tmp_path / "2/saved_model.pb").unlink()  # not copied yet
    (tmp_path / "2" / decoder_file.FOLDER).mkdir(parents=True)
    (tmp_path / "2" / decoder_file.FOLDER / decoder_file.FILES["int8"]).write_text("graph")
    assert wanted(tmp_path) == {}


def test_a_version_is_there_once_its_graph_is(tmp_path):
    write(tmp_path, "1")
    write(tmp_path, "2", complete=False)
    assert list(wanted(tmp_path)) == [1]
    assert scan(tmp_path, policy()).problems == ("version 2 has no saved_model.pb yet",)
    (tmp_path / "2/saved_model.pb").touch()
    assert list(wanted(tmp_path)) == [2]


def test_of_two_folders_of_a_number_one_is_taken_and_the_other_named(tmp_path):
    write(tmp_path, "1", "001")
    assert wanted(tmp_path) == {1: "1"}
    assert scan(tmp_path, policy()).problems == ("version 1 has several folders: 001 is ignored",)
    (tmp_path / "1/saved_model.pb").unlink()
    assert wanted(tmp_path) == {1: "001"}


def test_missing_requested_versions_are_reported(tmp_path):
    assert "there is no version in" in scan(tmp_path, policy()).problems[0]
    write(tmp_path, "1")
    assert scan(tmp_path, policy()).problems == ()
    problems = scan(tmp_path, policy("specific { versions: 1 versions: 5 }")).problems
    assert problems == ("version 5 is requested but does not exist",)


def test_a_missing_folder_is_not_an_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        scan(tmp_path / "none", policy())
    assert scan(tmp_path, policy()).wanted == {}


def test_links_within_the_folder_count_and_those_out_of_it_are_named(tmp_path):
    """Links include Kubernetes volumes, whose folder is a link with links through `..data`."""
    write(tmp_path / "models/store", "abc")
    write(tmp_path, "elsewhere")
    (tmp_path / "models/..data").symlink_to("store")
    (tmp_path / "models/5").symlink_to("..data/abc")
    (tmp_path / "models/6").symlink_to(tmp_path / "models/store/gone")
    (tmp_path / "models/7").symlink_to("../elsewhere")
    (tmp_path / "current").symlink_to("models")
    for base in (tmp_path / "models", tmp_path / "current"):
        assert list(wanted(base, "all {}")) == [5]
        (problem,) = scan(base, policy()).problems
        assert problem == f"version 7 is ignored: it links out of {base}, to {tmp_path}/elsewhere"


def test_files_tell_whether_a_version_changed(tmp_path):
    write(tmp_path, "1")
    index = tmp_path / "1/variables/variables.index"
    first = versions_on_disk.files(tmp_path / "1")
    assert versions_on_disk.files(tmp_path / "1") == first
    os.utime(index, ns=(1, 1))
    touched = versions_on_disk.files(tmp_path / "1")
    index.write_text("longer")
    os.utime(index, ns=(1, 1))
    grown = versions_on_disk.files(tmp_path / "1")
    (tmp_path / "1/more").touch()
    assert len({first, touched, grown, versions_on_disk.files(tmp_path / "1")}) == 4


def test_files_of_loaded_versions_are_not_looked_at(tmp_path):
    write(tmp_path, "1", "2")
    found = scan(tmp_path, policy("all {}"), loaded=[1]).wanted
    assert found[1].files is None
    assert {name for name, *_ in found[2].files} == {"saved_model.pb", "variables/variables.index"}


NAMES = st.one_of(
    st.integers(0, 30).map(str),
    st.builds("{:03d}".format, st.integers(0, 30)),
    st.sampled_from(["latest", "1.0", "-1", " 2", "0x3", "99999999999999999999", ".4"]),
)


@settings(deadline=None, max_examples=60)
@given(
    folders=st.dictionaries(NAMES, st.booleans(), max_size=12),
    latest=st.integers(0, 5),
    specific=st.lists(st.integers(0, 30), max_size=5),
)
def test_any_folder_gives_what_its_policy_says(folders, latest, specific):
    base = Path(tempfile.mkdtemp())
    try:
        for name, complete in folders.items():
            write(base, name, complete=complete)
        numbers = [name for name in folders if name.isdigit() and int(name) < 2**63 and folders[name]]
        there = sorted({int(name) for name in numbers})
        assert list(wanted(base, "all {}")) == there
        assert list(wanted(base, f"latest {{ num_versions: {latest} }}")) == there[-max(1, latest) :]
        assert list(wanted(base, f"specific {{ versions: {specific} }}")) == sorted(set(there) & set(specific))
        for number, name in wanted(base, "all {}").items():
            assert name == max(one for one in numbers if int(one) == number)
    finally:
        shutil.rmtree(base)
