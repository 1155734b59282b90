"""Commands that check, show and explain configurations."""

import json
from typing import Annotated

import typer

from tfattn import catalog, registry
from tfattn.cli import loading
from tfattn.cli.pipelines import Overrides, Pipeline, Plugins
from tfattn.errors import ConfigError, nearest

RECIPES, PRETRAINED = "recipes", "pretrained"
LISTS = (*catalog.CATALOGS, "targets", "examples", "sections", RECIPES)

app = typer.Typer()

Deep = Annotated[bool, typer.Option("--deep", help="Also build all parts, as each stage does first; takes seconds.")]


@app.command()
def check(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None, deep: Deep = False) -> None:
    """Check a pipeline file and print all errors, each with file:line:column.

    Checks keys, names, types, bounds and relations between keys. With --deep it also builds all parts, and checks the
    fields of columns, the combination of parts, the metrics and the memory of the weights.
    """
    if deep:
        loading.stages(plugin)
        from tfattn import checks

        checks.check(loading.resolved(pipeline, set))
    else:
        loading.register(plugin)
        loading.resolved(pipeline, set)
    print(f"{pipeline}: no errors" + " in keys and values; --deep builds all parts too" * (not deep))


@app.command()
def show(pipeline: Pipeline, set: Overrides = None, plugin: Plugins = None) -> None:
    """Print the resolved configuration, each value with its origin."""
    loading.register(plugin)
    from tfattn.config.show import to_yaml

    print(to_yaml(loading.resolved(pipeline, set)), end="")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(LISTS)}.")],
    name: Annotated[str | None, typer.Argument(help="Show the keys of this entry, or the file of a recipe.")] = None,
    plugin: Plugins = None,
) -> None:
    """List the entries of a catalog; with a name, the keys of the entry."""
    loading.register(plugin)
    if kind not in LISTS:
        raise ConfigError(
            "unknown catalog", expected=f"one of {', '.join(LISTS)}", received=kind, remedy=nearest(kind, LISTS)
        )
    if kind == RECIPES:
        _list_recipes(name)
        return
    if kind == PRETRAINED and _list_models(name):
        return
    if name is None:
        for entry in registry.names(kind):
            print(f"{entry:<24} {_summary(kind, entry)}")
        return
    from tfattn.config.show import key_lines

    print("\n".join(key_lines(kind, name)) or "The section has no keys.")


@app.command()
def schema() -> None:
    """Print the JSON Schema of pipeline files, for completion and validation in editors."""
    from tfattn.config.show import json_schema

    print(json.dumps(json_schema(), indent=2))


def _list_models(name: str | None) -> bool:
    """Print the published models before the formats, or one of them; return whether nothing else is to be printed."""
    from tfattn.pretrained import known_models

    if name is not None and name not in known_models.KNOWN_MODELS:
        return False
    print("\n".join(known_models.lines() if name is None else known_models.describe(name)))
    if name is None:
        print("\nModels of the same architectures, in a folder or on a hub, in these formats:")
    return name is not None


def _list_recipes(name: str | None) -> None:
    from tfattn.recipes.shipped import find_recipe, recipes

    if name is not None:
        print(find_recipe(name).text(), end="")
        return
    for recipe in recipes():
        print(f"{recipe.name:<32} {recipe.purpose}")


def _summary(kind: str, name: str) -> str:
    from tfattn.config.constructors import summary

    try:
        return summary(kind, name)
    except ConfigError as error:  # a broken plugin must not hide other entries
        return f"cannot be used: {error}"
