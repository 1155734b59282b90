"""The command that profiles raw data."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading
from tfattn.cli.init import ask_target
from tfattn.cli.pipelines import Overrides, Plugins

app = typer.Typer()


@app.command()
def profile(
    data: Annotated[
        str,
        typer.Argument(metavar="PIPELINE | FILE", help="A pipeline file, or a data file as for `tfattn init`."),
    ],
    target: Annotated[str | None, typer.Option("--target", help="With a data file: the column to predict.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="The folder of the page; by default profiles/NAME.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", metavar="KIND", help="Exit with status 1 on findings of this kind, or on any."),
    ] = None,
    set: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Look at raw data before training: missing values, duplicates, leaks, rare classes, drift between splits."""
    from typing import get_args

    from tfattn.config.resolve import resolve
    from tfattn.evaluation.report import write
    from tfattn.profiling.findings import FindingKind
    from tfattn.profiling.page import report_of
    from tfattn.profiling.profile import profile as compute

    kinds = ("any", *get_args(FindingKind))
    for kind in fail_on or ():
        if kind not in kinds:
            raise typer.BadParameter(f"--fail-on: expected one of {', '.join(kinds)}, received {kind}")
    loading.register(plugin)
    if data.endswith((".yaml", ".yml")):
        if target is not None:
            raise typer.BadParameter("--target is for a data file; a pipeline names its target in `data.source.fields`")
        config = resolve(data, set)
    else:
        from tfattn.console import note
        from tfattn.recipes.datasets import plan_data

        plan = plan_data([data], target=target, ask=ask_target)
        for line in plan.summary:
            note(line)
        config = resolve(plan.values, set)
    found = compute(config)
    folder = output or Path("profiles") / config.values["name"]
    found.write(folder)
    write(report_of(found), folder)
    found.show()
    for finding in found.findings:
        print(f"{finding.kind}: {finding}")
    print(folder / "report.html")
    if any(finding.kind in (fail_on or ()) or "any" in (fail_on or ()) for finding in found.findings):
        raise typer.Exit(1)
