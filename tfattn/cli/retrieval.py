"""Commands for search by meaning: an index of texts, and its queries."""

from pathlib import Path
from typing import Annotated

import typer

from tfattn.cli import loading
from tfattn.cli.models import Folder
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
    index: Annotated[Path, typer.Argument(help="The folder of an index, written by `tfattn index`.")],
    query: Annotated[str, typer.Argument(help="The query.")],
    k: Annotated[int, typer.Option("--k", min=1, help="The number of texts to print.")] = 10,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="The export that made the index, if it was moved.")
    ] = None,
    folder: Folder = Path("saved_models"),
) -> None:
    """Print the texts of an index that are most similar to a query, with their cosine similarity."""
    loading.with_tensorflow("tfattn.retrieval.commands").search(
        index, query, k=k, encoder=encoder, folder=folder, print=print
    )
