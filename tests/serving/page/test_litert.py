"""A classifier in the browser: the token ids of the preprocessing, and the scores of LiteRT in Python."""

import base64
import json
import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.serving.running import running
from tests.litert import exports
from tests.litert.test_wordpiece import TEXTS, WORDS
from tfattn.errors import ServingError
from tfattn.litert import model_file
from tfattn.litert.model import LiteRtModel
from tfattn.litert.wordpiece import WordPieceReader
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.serving.page.page import Page

LITERT_JS = Path(__file__).parents[3] / "node_modules/@litertjs"
TO_BYTES = "(text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0))"


@pytest.fixture(scope="module")
def exported(once) -> Path:
    return once("litert_export", exports.write) / exports.VERSION


@pytest.fixture(scope="module")
def server(chromium, exported):
    settings = {"litert_js": LITERT_JS} if LITERT_JS.is_dir() else {}
    with running(exported.parents[1], worker_threads=1, engine="tensorflow", **settings) as server:
        yield server.rest


@pytest.fixture
def page(chromium, server):
    """The page, with its model loaded if the server has LiteRT.js."""
    page = chromium.page(f"{server}/litert.html?model=reports")
    page.wait("document.body.ariaBusy === 'false'")
    return page


@pytest.mark.parametrize("fields", [("text",), ("first", "second")])
def test_token_ids_are_those_of_python(page, tmp_path, fields):
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    made = WordPiece(vocabulary=str(tmp_path / "words.txt"), fields=fields, max_length=30)
    made.fit([])
    made.save(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()} | made.tables
    draw = random.Random(5)
    planes = [(0x20, 0x7F)] * 4 + [(0xA0, 0x24F), (0x250, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0x10FFFF)]
    texts = [*TEXTS, *("".join(chr(draw.randint(*draw.choice(planes))) for _ in range(30)) for _ in range(500))]
    rows = list(zip(*(texts[start:] + texts[:start] for start in range(len(fields))), strict=True))
    read = WordPieceReader(files)
    expected = [{"ids": ids, "segments": segments} for ids, segments in (read.sequence(*row) for row in rows)]
    encoded = {name: base64.b64encode(content).decode() for name, content in files.items()}
    script = f"""import("./wordpiece.js").then(({{WordPieceReader}}) => {{
        const bytes = {TO_BYTES};
        const files = new Map(Object.entries({json.dumps(encoded)}).map(([name, text]) => [name, bytes(text)]));
        const reader = new WordPieceReader(files);
        return JSON.stringify({json.dumps(rows)}.map((row) => reader.sequence(...row)));
    }})"""
    assert json.loads(page.run(script)) == expected


def test_metadata_are_read(page, exported):
    known = model_file.read(model_file.find(exported))
    script = """Promise.all([import("./litert_file.js"), fetch("litert/reports/1.tflite")])
        .then(async ([{metadata}, response]) => {
            const {description, files} = metadata(await response.arrayBuffer());
            const sizes = [...files].map(([name, data]) => [name, data.length, data.reduce((sum, x) => sum + x, 0)]);
            return JSON.stringify({description, sizes});
        })"""
    found = json.loads(page.run(script))
    assert found["description"] == known.description and known.description["precision"] == "int8"
    assert found["sizes"] == [[name, len(data), sum(data)] for name, data in known.files.items()]


def test_a_server_without_the_runtime_names_the_command(page):
    page.call("Network.setBlockedURLs", urls=["*/litertjs/*"])
    page.call("Page.reload")
    page.wait("document.body?.ariaBusy === 'false' && document.querySelector('#failure')?.hidden === false")
    assert "npm install @litertjs/core" in page.text("#failure-message")


def test_a_classifier_runs_in_the_browser(page, exported):
    if not LITERT_JS.is_dir():
        pytest.skip("needs LiteRT.js: npm install --no-save @litertjs/core")
    model = LiteRtModel(model_file.find(exported))
    read = WordPieceReader(model.files)
    for text in ("coolant is pooling under the sorter", "", "Very loud noise 海"):
        page.run("document.querySelector('#input-text').focus()")
        page.type(text)
        page.run("document.querySelector('#answer').hidden = true")
        page.click("#send")
        page.wait("document.body.ariaBusy === 'false' && !document.querySelector('#answer').hidden")
        logits = model.run("serving_default", read([text]))["logits"][0].astype(np.float64)
        scores = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        shown = dict(row.split("\t") for row in page.texts("#scores tr"))
        assert page.text("#label") == exports.LABELS[scores.argmax()]
        for label, score in zip(exports.LABELS, scores, strict=True):
            assert abs(float(shown[label]) - score) < 2e-3  # 8-bit kernels of another processor round differently
    sent = [request["request"]["url"] for request in page.told("Network.requestWillBeSent")]
    assert not [url for url in sent if ":predict" in url]  # texts stay in the browser


def test_a_folder_without_the_runtime(tmp_path):
    with pytest.raises(ServingError, match=r"no LiteRT.js: expected core/dist/index.js, .*npm install @litertjs/core"):
        Page(None, litert_js=str(tmp_path))
