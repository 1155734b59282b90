"""Commands about finished and unfinished runs."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder

app = typer.Typer()

RunsFolder = Annotated[Path, typer.Option("--runs-folder", help="The folder of all runs.")]


@app.command()
def runs(
    name: Annotated[str | None, typer.Argument(help="Only runs of this name.")] = None,
    runs_folder: RunsFolder = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each run.")] = False,
) -> None:
    """List all runs, the newest first: date, state, metric, time and disk space."""
    from tfattn.runs.listing import list_runs

    found = list_runs(runs_folder, name)
    if as_json:
        for info in found:
            print(json.dumps(dataclasses.asdict(info), default=str))
        return
    from rich.filesize import decimal

    from tfattn import console

    shown = [
        (
            info.name,
            f"{info.id} *" if info.latest else info.id,
            f"{info.date:%y-%m-%d %H:%M}",
            info.state,
            "" if info.value is None else f"{info.metric} {info.value:.4g}",
            _duration(info.seconds),
            decimal(info.bytes),
        )
        for info in found
    ]
    title = f"Runs in {runs_folder}; * is the newest run of its name"
    console.table(title, ("name", "id", "date", "state", "result", "time", "disk"), shown, is_result=True)


@app.command()
def clean(
    names: Annotated[list[str] | None, typer.Argument(help="Only runs and exports of these names.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove the files; otherwise they are only listed.")] = False,
    keep_versions: Annotated[
        int, typer.Option("--keep-versions", min=1, help="The number of the newest versions of an export to keep.")
    ] = 1,
    runs_folder: RunsFolder = Path("runs"),
    folder: Folder = Path("saved_models"),
) -> None:
    """List files that no run, export or report needs, and remove them with --yes."""
    cleaning = loading.with_tensorflow("tfattn.runs.cleaning")
    from rich.filesize import decimal

    from tfattn import console

    found = cleaning.find_removals(runs_folder, folder, names or (), keep_versions=keep_versions)
    if not found:
        console.note("there is nothing to remove")
        return
    title = "Removed" if yes else "Can be removed"
    console.table(title, ("what", "where", "size"), [(each.what, each.path, decimal(each.bytes)) for each in found])
    if yes:
        for each in found:
            each.remove()
    total = decimal(sum(each.bytes for each in found))
    console.note(f"{total} freed" if yes else f"{total} in total; `tfattn clean --yes` removes them")


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    return f"{hours:.1f} h" if hours >= 1 else f"{minutes:.1f} min" if minutes >= 1 else f"{seconds:.0f} s"
