"""The commands that make an index of texts, and search it."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tfattn import console
from tfattn.features import TEXT
from tfattn.formats.file_formats import InputKind
from tfattn.formats.training_file import TrainingFile
from tfattn.retrieval.text_index import Document, TextIndex
from tfattn.serving.client import input_rows


def index(
    model: str,
    input: str,
    output: Path,
    *,
    column: str,
    id_column: str | None,
    dimensions: int | None,
    format: InputKind | None,
    folder: Path,
) -> None:
    """Encode the texts of a file with an export, and write an index; see `TextIndex.build`.

    Args:
        model: the export.
        input, format: the file and its format, as for `tfattn predict`.
        output: the folder of the index.
        column: the column of the texts.
        id_column: the column of identifiers; by default `id` if the file has it, else the line.
        dimensions: the number of leading dimensions to store.
        folder: the folder of all exports.
    """
    documents = _documents(input, TrainingFile({TEXT: column}, id=id_column), format)
    made = TextIndex.build(documents, output, encoder=model, dimensions=dimensions, exports=folder)
    console.note(f"index: {len(made):,} texts of {made.facts['dimensions']} dimensions: {output}")


def search(index: Path, query: str, *, k: int, encoder: str | None, folder: Path, print: Callable[[str], None]) -> None:
    """Print the texts of an index that are most similar to a query: similarity, identifier and text."""
    for hit in TextIndex(index, encoder=encoder, exports=folder).search(query, k):
        print(f"{hit.score:.4f}  {hit.id}  {' '.join(hit.text.split())}")


def _documents(path: str, columns: TrainingFile, kind: InputKind | None) -> Iterator[Document]:
    """Yield the texts of a file, and raise the error of the first unreadable row."""
    for row in input_rows.read(path, columns, kind=kind):
        if row.problem:
            raise row.problem
        found = columns.id_in(row.columns)
        yield Document(row.where.rpartition("/")[2] if found is None else str(found), row.fields[TEXT])
