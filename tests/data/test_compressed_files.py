"""Compressed files: reading by every source, and detection of damage."""

import bz2
import gzip
import json

import pytest

from tfattn.data.sources.document_files import DocumentFiles
from tfattn.data.sources.parallel_files import ParallelFiles
from tfattn.errors import DataError
from tfattn.formats.conll_files import ConllFile
from tfattn.formats.csv_files import CsvFile
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.formats.squad_files import SquadFile

QUESTIONS = [{"question": f"é{number}?", "answers": []} for number in range(300)]
CONTENTS = {
    "rows.csv": "x\n" + "".join(f'"a {number}\nb"\n' for number in range(900)),
    "rows.tsv": "x\ty\n" + "".join(f"a {number}\tb\n" for number in range(900)),
    "rows.jsonl": "".join(f'{{"x": "é{number}"}}\n' for number in range(900)),
    "rows.conll": "".join(f"海 B-LOC\n{number} O\n\n" for number in range(900)),
    "rows.txt": "".join(f"{number} a\n" for number in range(900)),
    "rows.json": json.dumps({"data": [{"paragraphs": [{"context": "é", "qas": QUESTIONS}]}]}),
}


def sources(folder, suffix=""):
    return [
        CsvFile(path=f"{folder}/rows.csv{suffix}", fields={"x": "x"}),
        CsvFile(path=f"{folder}/rows.tsv{suffix}", fields={"x": "x"}),
        JsonLinesFile(path=f"{folder}/rows.jsonl{suffix}", fields={"x": "x"}),
        ConllFile(path=f"{folder}/rows.conll{suffix}", fields={"text": 1, "tags": 2}),
        ParallelFiles(path=f"{folder}/rows.txt{suffix}", target_path=f"{folder}/rows.txt"),
        DocumentFiles(path=f"{folder}/rows.txt{suffix}", max_sentences=3),
        SquadFile(path=f"{folder}/rows.json{suffix}"),
    ]


@pytest.fixture
def folder(tmp_path):
    for name, content in CONTENTS.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
        (tmp_path / f"{name}.bz2").write_bytes(bz2.compress(content.encode()))
    return tmp_path


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_a_compressed_file_has_the_same_rows_in_one_part(folder, suffix):
    for packed, plain in zip(sources(folder, suffix), sources(folder), strict=True):
        [part] = packed.parts()
        for read in (packed.rows(), packed.rows(part)):
            assert [row.fields for row in read] == [row.fields for row in plain.rows()]
        row = next(packed.rows())
        assert row.where.rpartition(":")[0].endswith(f"rows{packed.path.suffix}{suffix}")
        assert packed.fingerprint() != plain.fingerprint()


def test_an_error_names_the_line_of_the_decompressed_file(folder):
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(b'{"x": 1}\n{"x": \n'))
    with pytest.raises(DataError, match="rows.jsonl.gz:2: "):
        list(JsonLinesFile(path=f"{folder}/rows.jsonl.gz", fields={"x": "x"}).rows())


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_decompression_bomb_is_refused(tmp_path, monkeypatch, suffix, compress):
    monkeypatch.setattr("tfattn.files.compressed.RATIO_FROM", 1 << 20)
    path = tmp_path / f"rows.jsonl{suffix}"
    path.write_bytes(compress(b"\n" * (3 << 20)))
    with pytest.raises(DataError, match=f"rows.jsonl{suffix}: the content of the compressed file is far larger"):
        list(JsonLinesFile(path=str(path), fields={"x": "x"}).rows())


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
@pytest.mark.parametrize("damage", ["cut", "another byte", "no such format"])
def test_a_damaged_file_is_reported_by_name(folder, suffix, damage):
    for path in folder.glob(f"*{suffix}"):
        good = path.read_bytes()
        middle = len(good) // 2
        flipped = good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1 :]
        path.write_bytes({"cut": good[:middle], "another byte": flipped, "no such format": b"x" + good}[damage])
    for source in sources(folder, suffix):
        with pytest.raises(DataError, match=rf"rows\.\w+{suffix}, after .* decompressed bytes: the compressed file"):
            list(source.rows())
