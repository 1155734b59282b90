"""A model is found by folder or by name, in its newest complete version."""

import shutil

import pytest

from tfattn import files
from tfattn.errors import ServingError
from tfattn.serving import model_store


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
    with pytest.raises(ServingError, match="there are none yet.*Export one first"):
        model_store.find("reports", tmp_path / "none")
