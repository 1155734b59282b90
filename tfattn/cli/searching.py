"""Commands that search: texts by meaning, in an index; and settings of a pipeline."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder
from tfattn.cli.pipelines import Overrides, Plugins
from tfattn.formats.file_formats import InputKind

app = typer.Typer()


@app.command()
def index(
    model: Annotated[str, typer.Argument(help="An export of the task embedding: its folder, or its name.")],
    input: Annotated[str, typer.Argument(help="The texts: text lines, csv, tsv, jsonl, ...; - is standard input.")],
    output: Annotated[Path, typer.Option("--output", help="The folder of the index.")],
    column: Annotated[str, typer.Option("--column", help="The column of the texts.")] = "text",
    id_column: Annotated[
        str | None, typer.Option("--id-column", help="The column of identifiers; by default `id`, or the line.")
    ] = None,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", min=1, help="Store only this many leading dimensions (Matryoshka).")
    ] = None,
    format: Annotated[
        InputKind | None, typer.Option("--format", help="The input format, if the suffix does not determine it.")
    ] = None,
    folder: Folder = Path("saved_models"),
) -> None:
    """Encode the texts of a file, and write an index for `tfattn search`."""
    options = {"column": column, "id_column": id_column, "dimensions": dimensions, "format": format, "folder": folder}
    loading.with_tensorflow("tfattn.retrieval.commands").index(model, input, output, **options)


@app.command()
def search(
    target: Annotated[
        str,
        typer.Argument(
            metavar="INDEX QUERY | PIPELINE",
            help="The folder of an index, written by `tfattn index`; or a pipeline file, for better settings.",
        ),
    ],
    query: Annotated[str | None, typer.Argument(help="With an index: the query.", metavar="")] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="With an index: the number of texts to print.")] = 10,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="With an index: the export that made it, if it was moved.")
    ] = None,
    folder: Folder = Path("saved_models"),
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, help="With a pipeline: start no trial after this time.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, help="With a pipeline: the number of trials; by default `search.trials`."),
    ] = None,
    set: Overrides = None,
    plugin: Plugins = None,
) -> None:
    """Search texts by meaning in an index; or search for better settings of a pipeline."""
    if query is None and not Path(target).is_dir():
        loading.stages(plugin)
        loading.with_tensorflow("tfattn.searching").search(target, set, minutes=minutes, trials=trials)
        return
    if query is None:
        raise typer.BadParameter(f"a search in the index {target} needs a query")
    commands = loading.with_tensorflow("tfattn.retrieval.commands")
    commands.search(Path(target), query, k=k, encoder=encoder, folder=folder, print=print)
