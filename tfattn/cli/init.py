"""The command that writes pipeline files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tfattn.errors import ConfigError

app = typer.Typer()


@app.command()
def init(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="A csv, tsv, jsonl, xlsx or parquet file, a CoNLL or SQuAD file, a folder of images by class, or two "
            "files of parallel texts."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="The column to predict.")] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="The character between columns; by default it is detected.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="A recipe, such as translate: `tfattn list recipes` shows all.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="The file to write; by default NAME.yaml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a pipeline file for your data, or from a recipe.

    The format of the data, the kinds of columns and the target are detected, and the file says why each value was
    chosen. It runs as it is.
    """
    if (recipe is None) == (not data):
        raise ConfigError(
            "there is nothing to write",
            expected="either data, such as `tfattn init reports.csv`, or --recipe",
            received="both" if data else "neither",
        )
    if recipe is not None:
        from tfattn.recipes.shipped import find_recipe

        found = find_recipe(recipe)
        _write(output or Path(f"{found.path.stem}.yaml"), found.text(), force=force)
        return
    from tfattn.console import note
    from tfattn.recipes.datasets import plan_data

    plan = plan_data(data, target=target, delimiter=delimiter, ask=ask_target)
    path = output or Path(f"{plan.values['name']}.yaml")
    _write(path, plan.text(str(path)), force=force)
    for line in plan.summary:
        note(line)
    note(f"Next ({plan.time} on two CPU cores):\n  tfattn run {path}\n  tfattn serve")


def _write(path: Path, text: str, *, force: bool) -> None:
    from tfattn import files

    if path.exists() and not force:
        raise ConfigError("the file exists", where=str(path), remedy="Name another by --output, or give --force.")
    files.write_text(path, text)
    print(path)


def ask_target(problem: str, answers: Sequence[str], option: str) -> str:
    """Ask on a terminal which answer is right; otherwise raise an error, whose remedy is the option."""
    if not sys.stdin.isatty():
        raise ConfigError(problem, expected=" or ".join(map(repr, answers)), remedy=f"Choose by {option}.")

    def chosen(answer: str) -> str:
        if answer not in answers:
            raise typer.BadParameter(f"expected {' or '.join(map(repr, answers))}")
        return answer

    return typer.prompt(f"{problem}: {' or '.join(map(repr, answers))}", value_proc=chosen, err=True)
