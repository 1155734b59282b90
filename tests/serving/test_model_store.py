"""A model is found by folder or by name, in its newest complete version."""

import pytest

from tfattn.errors import ServingError
from tfattn.serving import model_store


def test_names_and_folders_lead_to_the_newest_version(models):
    newest = models / "reports/10"
    assert model_store.find("reports", models) == newest
    assert model_store.find(str(models / "reports")) == newest
    assert model_store.find(str(models / "reports/9")) == models / "reports/9"
    assert model_store.names(models) == ["pairs", "reports", "timed"]


def test_an_unknown_name_gets_the_nearest(models):
    with pytest.raises(ServingError, match="pairs, reports, timed, received 'report'. Did you mean `reports`?"):
        model_store.find("report", models)


def test_where_nothing_is_exported_yet_it_says_how(tmp_path):
    with pytest.raises(ServingError, match="there are none yet.*Export one first"):
        model_store.find("reports", tmp_path / "none")
