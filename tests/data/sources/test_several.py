"""Several sources as one: rows in order, each with its own location and part."""

import pytest

from tfattn.config.build import build
from tfattn.config.resolve import resolve
from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.sources.several import Several
from tfattn.errors import ConfigError
from tfattn.formats.csv_files import CsvFile

PIPELINE = """\
name: two
data:
  source:
    name: several
    sources:
      notes: {name: documents, path: a.txt}
      table: {name: csv, path: b.csv, fields: {text: words, label: kind}}
  preprocessing: {name: wordpiece}
  batching: {batch_size: 2}
model: {name: bert, hidden_dim: 8, num_layers: 1, num_heads: 1, intermediate_dim: 8}
task: {name: classification}
training: {epochs: 1}
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("One.\nTwo.\n\nThree.\n")
    (tmp_path / "b.csv").write_text("words,kind\nfour,x\nfive,y\n")
    return {
        "notes": DocumentFiles(path="a.txt"),
        "table": CsvFile(path="b.csv", fields={"text": "words", "label": "kind"}),
    }


def test_sources_are_read_in_order_with_their_common_roles(sources):
    rows = list(Several(sources=sources).rows())
    assert [row.fields for row in rows] == [{"text": text} for text in ("One.\nTwo.", "Three.", "four", "five")]
    assert [row.where for row in rows] == ["a.txt:1", "a.txt:4", "b.csv:2", "b.csv:3"]


def test_parts_are_those_of_each_source(sources):
    source = Several(sources=sources)
    parts = list(source.parts())
    assert [(part.source, part.path) for part in parts] == [("notes", "a.txt"), ("table", "b.csv")]
    assert [row for part in parts for row in source.rows(part)] == list(source.rows())


def test_the_fingerprint_depends_on_each_source(sources, tmp_path):
    before = Several(sources=sources).fingerprint()
    (tmp_path / "b.csv").write_text("words,kind\nsix,x\n")
    assert Several(sources=sources).fingerprint() != before


def test_columns_of_tables_are_read_in_each_source(sources):
    tables = {name: CsvFile(path="b.csv", fields={"label": "kind"}) for name in "ab"}
    source = Several(sources=tables)
    source.add_columns(["words"])
    assert [row.fields["words"] for row in source.rows()] == ["four", "five"] * 2


def test_nested_sources_are_refused(sources):
    with pytest.raises(ConfigError, match="it is made of several sources itself") as caught:
        Several(sources={"x": sources["notes"], "y": Several(sources=sources)})
    assert caught.value.key == "sources.y"


def test_sources_are_named_in_a_pipeline(sources, tmp_path):
    (tmp_path / "two.yaml").write_text(PIPELINE)
    config = resolve("two.yaml", ["data.source.sources.notes.max_sentences=1"])
    source = build(config, "data", "source")
    assert [row.fields["text"] for row in source.rows()] == ["One.", "Two.", "Three.", "four", "five"]
    assert config.origins["data", "source", "sources", "notes", "encoding"] == "default"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.source.sources.notes.pth=a.txt", r"data.source.sources.notes.pth: unknown key. Did you mean `path`"),
        (
            "data.source.sources.notes.name=docs",
            "notes.name: unknown name in sources: expected .*csv, csv_images, documents",
        ),
        ("data.source.sources=[a.txt]", r"data.source.sources: not parts: expected a mapping of names to parts"),
        ("data.source.sources={}", r"data.source.sources: not parts: expected a mapping of names to parts"),
        ("data.source={name: several}", r"data.source.sources: missing key"),
    ],
)
def test_errors_in_a_source_are_located(sources, tmp_path, change, message):
    (tmp_path / "two.yaml").write_text(PIPELINE)
    with pytest.raises(ConfigError, match=message):
        resolve("two.yaml", [change])
