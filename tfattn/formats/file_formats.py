"""File formats of rows, with the source class that reads each of them."""

from typing import Literal, NamedTuple


class Format(NamedTuple):
    """A file format.

    Attributes:
        source: the `Source` class of the format, as `module:Class`.
        suffixes: lowercase suffixes of file names that imply the format.
    """

    source: str
    suffixes: tuple[str, ...] = ()


FILE_FORMATS = {
    "conll": Format("tfattn.formats.conll_files:ConllFile", (".conll",)),
    "csv": Format("tfattn.formats.csv_files:CsvFile", (".csv",)),
    "excel": Format("tfattn.formats.excel_files:ExcelFile", (".xlsx",)),
    "jsonl": Format("tfattn.formats.jsonl_files:JsonLinesFile", (".jsonl", ".ndjson")),
    "parquet": Format("tfattn.formats.parquet_files:ParquetFile", (".parquet",)),
    "squad": Format("tfattn.formats.squad_files:SquadFile"),
}
# Values of `--format`: a format, "text" for lines of text, or "tsv" for a csv with tabs.
InputKind = Literal[("text", "tsv", *FILE_FORMATS)]
INPUT_KINDS: dict[str, InputKind] = {".txt": "text", ".tsv": "tsv"} | {
    suffix: kind for kind, format in FILE_FORMATS.items() for suffix in format.suffixes
}
