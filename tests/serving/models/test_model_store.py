"""A model is found by folder or by name, in its newest complete version."""

import shutil

import pytest

from tfattn import files
from tfattn.errors import ServingError
from tfattn.serving.models import model_store


def test_names_and_folders_lead_to_the_newest_version(models):
    newest = models / "reports/10"
    assert model_store.find("reports", models) == newest
    assert model_store.find(str(models / "reports")) == newest
    assert model_store.find(str(models / "reports/9")) == models / "reports/9"
    assert model_store.names(models) == ["pairs", "reports", "timed"]


def test_an_older_version_does_not_answer_for_one_that_lost_its_graph(models, tmp_path):
    shutil.copytree(models / "reports", tmp_path / "reports")
    (tmp_path / "reports/10/saved_model.pb").unlink()
    assert model_store.find("reports", tmp_path) == tmp_path / "reports/9", "it may be a version that is being copied"
    files.write_manifest(tmp_path / "reports/10")
    assert model_store.find("reports", tmp_path) == tmp_path / "reports/10"


def test_an_unknown_name_gets_the_nearest(models):
    with pytest.raises(ServingError, match="pairs, reports, timed, received 'report'. Did you mean `reports`?"):
        model_store.find("report", models)


def test_where_nothing_is_exported_yet_it_says_how(tmp_path):
    with pytest.raises(ServingError, match="there are none yet.*Export a model first"):
        model_store.find("reports", tmp_path / "none")


def test_a_name_stays_in_the_folder_and_a_path_is_what_somebody_means(models, tmp_path):
    folder = tmp_path / "saved_models"
    (folder / "own/7").mkdir(parents=True)
    (folder / "own/7/saved_model.pb").touch()
    (folder / "inside").symlink_to("own")
    (folder / "outside").symlink_to(models / "reports")
    (tmp_path / "beside").symlink_to(models / "reports")
    assert model_store.names(folder) == ["inside", "own"]
    assert model_store.find("inside", folder) == folder / "inside/7"
    assert model_store.find(str(folder / "outside")) == folder / "outside/10"
    for name in ("outside", "../beside"):
        with pytest.raises(ServingError, match="it is a link out of"):
            model_store.find(name, folder)


def test_a_version_that_leads_out_of_its_model_is_named(models, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/8").symlink_to(models / "reports/9")
    with pytest.raises(ServingError, match="own/8: it is a link out of"):
        model_store.find("own", tmp_path)
