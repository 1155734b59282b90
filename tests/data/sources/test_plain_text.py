"""Plain text: files, lines and articles, in parts of whole documents."""

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfattn.config.resolve import resolve
from tfattn.data.sources.plain_text import PlainText
from tfattn.errors import ConfigError, DataError
from tfattn.formats import parts

ARTICLES = " \n = One = \n \n Some text . \n = = Part = = \n More . \n = Two = \n End . \n"


@pytest.fixture
def source(tmp_path):
    def write(content, name="a.txt", **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return PlainText(path=str(tmp_path / name), **options)

    return write


def texts(source):
    return [row.fields["text"] for row in source.rows()]


def test_a_file_is_an_unmodified_document(source):
    assert texts(source("\n  a\r\n\n b \n")) == ["\n  a\r\n\n b \n"]
    assert texts(source(gzip.compress("a é\n".encode()), "a.gz")) == ["a é\n"]
    assert texts(source("é\n".encode("utf-16"), encoding="utf-16")) == ["é\n"]


@given(st.text(st.sampled_from("ab é\n"), min_size=1, max_size=40), st.floats(0.01, 0.99))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_is_divided_by_its_characters(source, content, place):
    cut = int(len(content) * place)
    for half, part in ((source(content, end=place), content[:cut]), (source(content, begin=place), content[cut:])):
        assert [row.fields["text"] for row in half.rows_of(half.path, None)] == [part] * bool(part.strip())


def test_each_line_is_a_document_without_its_end(source):
    rows = list(source(" a b \r\n\nc\n", documents="lines").rows())
    assert [(row.fields["text"], row.where.rpartition(":")[2]) for row in rows] == [(" a b ", "1"), ("c", "3")]


def test_only_documents_of_whole_files_are_cut(pipeline_file):
    """As a section says it, where defaults stand beside what is given."""
    lines = "{name: plain_text, path: a.txt, documents: lines%s}"
    assert resolve(pipeline_file(lines % "")).at("data", "source", "documents") == "lines"
    with pytest.raises(ConfigError, match="data.source.end: needs another `documents`"):
        resolve(pipeline_file(lines % ", end: 0.5"))


@pytest.fixture
def pipeline_file(tmp_path):
    def write(source):
        path = tmp_path / "mine.yaml"
        path.write_text(f"""
name: mine
data: {{source: {source}, preprocessing: {{name: characters, max_length: 8}}, batching: {{batch_size: 2}}}}
model: {{name: gpt, hidden_dim: 8, num_layers: 1, num_heads: 2, intermediate_dim: 8}}
task: {{name: language_modeling}}
training: {{epochs: 1}}
""")
        return path

    return write


def test_an_article_starts_with_its_heading(source):
    rows = list(source(ARTICLES, documents="headings").rows())
    assert [row.where.rpartition(":")[2] for row in rows] == ["2", "7"]
    assert "".join(row.fields["text"] for row in rows) == ARTICLES.removeprefix(" \n")
    assert rows[1].fields["text"].startswith(" = Two = ")


@pytest.mark.parametrize("documents", ["files", "lines", "headings"])
@pytest.mark.parametrize("size", [1, 7, 30])
def test_parts_have_the_same_rows_as_the_whole(source, documents, size, monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", size)
    read = source(ARTICLES * 3, documents=documents)
    divided = list(read.parts())
    assert [row for part in divided for row in read.rows(part)] == list(read.rows())
    assert (len(divided) > 1) == (documents != "files")


def test_empty_sources_are_reported(source):
    with pytest.raises(ConfigError, match=r"nothing is left to be read: expected more than 0\.9, received 0\.5"):
        source("a", begin=0.9, end=0.5)
    with pytest.raises(DataError, match="the file holds no rows"):
        texts(source(" \n"))


def test_too_long_documents_are_refused(source, monkeypatch):
    monkeypatch.setattr("tfattn.data.sources.plain_text.MAX_DOCUMENT_LENGTH", 10)
    with pytest.raises(DataError, match=r"a\.txt:1: the document is too long.*Set `documents: lines`"):
        texts(source("abcd\nefgh\nijkl\n"))
    assert texts(source("abcd\nefgh\nijkl\n", documents="lines")) == ["abcd", "efgh", "ijkl"]
