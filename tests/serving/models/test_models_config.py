"""What a path means: one model, a folder of them, or a models.config."""

import os
import re
from pathlib import Path

import pytest

from tfattn.errors import ServingError
from tfattn.serving.models.models_config import ignored_links, read_config


def version(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").touch()


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two models, a model without a version, and a file that is not a model."""
    for name in ("reports/1", "reports/10", "pairs/3"):
        version(tmp_path / "saved_models" / name)
    (tmp_path / "saved_models/unfinished/1").mkdir(parents=True)
    (tmp_path / "saved_models/README.md").touch()
    return tmp_path / "saved_models"


def read(path: Path) -> dict[str, str]:
    return {model.name: model.base_path for model in read_config(path).model_config_list.config}


def entry(name="reports", base_path="/models/reports", more='model_platform: "tensorflow"') -> str:
    return f'  config {{\n    name: "{name}"\n    base_path: "{base_path}"\n    {more}\n  }}\n'


def write_config(folder: Path, *entries: str) -> Path:
    path = folder / "models.config"
    path.write_text("# models\nmodel_config_list {\n" + "".join(entries) + "}\n")
    return path


def refused(path: Path) -> str:
    with pytest.raises(ServingError) as caught:
        read_config(path)
    return str(caught.value)


def test_a_folder_with_versions_is_one_model(folder, monkeypatch):
    assert read(folder / "reports") == {"reports": str(folder / "reports")}
    monkeypatch.chdir(folder / "reports")
    assert read(Path(".")) == {"reports": str(folder / "reports")}


def test_a_link_keeps_its_name(folder):
    (folder / "current").symlink_to(folder / "reports")
    assert read(folder / "current") == {"current": str(folder / "current")}


def test_one_versions_folder_is_served_alone(folder):
    (model,) = read_config(folder / "reports/1").model_config_list.config
    assert (model.name, model.base_path) == ("reports", str(folder / "reports"))
    assert list(model.model_version_policy.specific.versions) == [1]
    version(folder / "reports/best")
    assert "best: a version's folder has no number for a name" in refused(folder / "reports/best")


def test_a_folder_of_models_serves_those_that_have_a_version(folder):
    assert read(folder) == {"pairs": str(folder / "pairs"), "reports": str(folder / "reports")}


def test_a_models_config_comes_before_what_stands_beside_it(folder):
    path = write_config(folder, entry("mine", folder / "reports"))
    assert read(folder) == read(path) == {"mine": str(folder / "reports")}


def test_a_model_that_is_a_link_out_of_the_folder_is_left_alone_unless_a_config_names_it(folder, tmp_path):
    version(tmp_path / "elsewhere/1")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "current").symlink_to("reports")
    assert list(read(folder)) == ["current", "pairs", "reports"]
    assert ignored_links(folder) == [f"model link is ignored: it links out of {folder}, to {tmp_path}/elsewhere"]
    assert read(write_config(folder, entry("link", folder / "link"))) == {"link": str(folder / "link")}
    assert ignored_links(folder) == []


@pytest.mark.parametrize("base_path", ["link", "../elsewhere", "/models/link"])
def test_only_an_absolute_path_leads_away_from_the_config(base_path, folder, tmp_path):
    version(tmp_path / "elsewhere/1")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    message = refused(write_config(folder, entry(base_path=base_path)))
    assert message.startswith(f"{folder}/models.config:5: the base path leads out of the folder of the file")
    assert f"If this is intended, write the absolute path: {tmp_path}/elsewhere." in message


def test_policy_and_labels_are_kept(folder):
    more = """model_platform: "tensorflow" model_version_policy { latest { num_versions: 2 } }
        version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 10 }"""
    (model,) = read_config(write_config(folder, entry(more=more))).model_config_list.config
    assert model.model_version_policy.latest.num_versions == 2
    assert dict(model.version_labels) == {"stable": 1, "canary": 10}


def test_paths_of_containers_are_looked_for_beside_the_file(folder, monkeypatch):
    write_config(folder, entry(), entry("two", "pairs"), entry("three", "gs://bucket/unfinished"))
    expected = {"reports": "reports", "two": "pairs", "three": "unfinished"}
    assert read(folder) == {name: str(folder / last) for name, last in expected.items()}
    monkeypatch.chdir(folder)
    assert read(Path("models.config")) == read(folder)


def test_a_model_without_versions_may_stand_in_a_models_config(folder):
    assert read(write_config(folder, entry("later", folder / "unfinished"))) == {"later": str(folder / "unfinished")}


def test_the_old_key_for_the_platform_is_understood(folder):
    assert read(write_config(folder, entry(more="model_type: TENSORFLOW"))) == {"reports": str(folder / "reports")}


@pytest.mark.parametrize(
    ("entries", "line", "message"),
    [
        (
            [entry(more='model_platfrom: "tensorflow"')],
            6,
            "not a models.config .*model_platfrom.*Write: model_config_list",
        ),
        ([entry(), entry()], 9, "Illegal to list model reports multiple times in config list"),
        ([entry(), entry("pairs", "/models/pear")], 10, "the folder of model pairs is missing.*Did you mean `pairs`"),
        ([entry(more='model_platform: "tensorflw"')], 6, "expected model_platform: .tensorflow., received tensorflw"),
        ([entry(more="")], 4, "Model reports requests unsupported platform.*received none"),
        ([entry(more="model_type: OTHER")], 4, "unsupported platform.*received other"),
        ([entry(), entry("pairs", "s3://bucket/none")], 10, "Expected model pairs to have an absolute path"),
        ([entry("")], 4, "a model has no name"),
    ],
)
def test_a_mistake_is_named_with_its_line(folder, entries, line, message):
    path = write_config(folder, *entries)
    said = refused(path)
    assert said.startswith(f"{path}:{line}:"), said
    assert re.search(message, said), said


@pytest.mark.parametrize("text", ["", "# nothing\n", "model_config_list { }", "custom_model_config { }"])
def test_a_models_config_must_list_something(folder, text):
    (folder / "models.config").write_text(text)
    assert "there is nothing to serve" in refused(folder)


def test_a_file_that_is_no_text_is_refused(folder):
    (folder / "saved.pb").write_bytes(b"\xff\xfe\x00")
    assert "saved.pb: cannot read the file" in refused(folder / "saved.pb")


def test_where_nothing_is_served_the_nearest_name_is_given(folder):
    said = refused(folder / "report")
    assert said == f"{folder / 'report'}: there is nothing to serve: no such folder or file. Did you mean `reports`?"
    assert "received 1. Export a model first" in refused(folder / "unfinished")
    os.mkdir(folder / "empty")
    assert "received an empty folder" in refused(folder / "empty")
