"""What several groups of commands are given: a pipeline file, its overrides, and plugins."""

from pathlib import Path
from typing import Annotated

import typer

Pipeline = Annotated[Path, typer.Argument(help="A pipeline file, such as pipelines/factory_reports.yaml.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override any key, such as training.epochs=3.")
]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="MODULE:CLASS", help="Your own part, as CATALOG.NAME=MODULE:CLASS."),
]
