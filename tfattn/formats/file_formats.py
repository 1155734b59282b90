"""The file formats of rows: each has one class, which reads it for training and for predictions."""

from typing import Literal, NamedTuple


class Format(NamedTuple):
    """A file format.

    Attributes:
        source: the class that reads it, a `Source`, as `module:Class`.
        suffixes: of file names that are always of this format, in lower case.
    """

    source: str
    suffixes: tuple[str, ...] = ()


FILE_FORMATS = {
    "conll": Format("tfattn.formats.conll_files:ConllFile", (".conll",)),
    "csv": Format("tfattn.formats.csv_files:CsvFile", (".csv",)),
    "jsonl": Format("tfattn.formats.jsonl_files:JsonLinesFile", (".jsonl", ".ndjson")),
    "parquet": Format("tfattn.formats.parquet_files:ParquetFile", (".parquet",)),
    "squad": Format("tfattn.formats.squad_files:SquadFile"),
}
# What `--format` can be: also lines of text, and a csv whose delimiter is a tab.
InputKind = Literal[("text", "tsv", *FILE_FORMATS)]
INPUT_KINDS: dict[str, InputKind] = {".txt": "text", ".tsv": "tsv"} | {
    suffix: kind for kind, format in FILE_FORMATS.items() for suffix in format.suffixes
}
