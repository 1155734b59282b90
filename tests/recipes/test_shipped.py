"""Recipes are written as pipelines that resolve anywhere."""

import pytest

from tfattn.config.resolve import resolve
from tfattn.errors import ConfigError
from tfattn.recipes.shipped import PURPOSES, find_recipe, recipes


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.name)
def test_a_written_recipe_is_the_shipped_pipeline(recipe, tmp_path, monkeypatch, published_hub):
    monkeypatch.chdir(tmp_path)
    written = tmp_path / "mine.yaml"
    written.write_text(recipe.text())
    assert resolve(written).values == resolve(recipe.path).values
    assert recipe.text().startswith("# ") and "tfattn run" not in recipe.text()


def test_recipes_with_an_own_data_part_write_it_out():
    assert "path: data/multi30k/train.en" in find_recipe("translate").text()


def test_an_unknown_recipe_suggests_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean `translate`"):
        find_recipe("translation")
    assert set(PURPOSES) <= {recipe.name for recipe in recipes()}


def test_init_writes_a_recipe_once(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("init", "--recipe", "translate").output == "translate_multi30k_transformer.yaml\n"
    assert "the file exists" in command("init", "--recipe", "translate").errors
    assert command("init", "--recipe", "translate", "--force").status == 0
    assert command("list", "recipes").output.count("\n") == len(recipes())
