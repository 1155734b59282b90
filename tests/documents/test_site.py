"""The documentation site builds without warnings and without TensorFlow; each page, name and key is in it."""

import json
import re
import subprocess
import sys

import pytest

import tfattn
from tests.documents.blocks import PROJECT
from tests.serving.page import browser
from tfattn import registry
from tfattn.config.schema import keys_of

pytest.importorskip("mkdocs", reason="needs the documentation tools: pip install 'tfattn[docs]'")

# The modules that the build must not need cannot be imported in it.
BUILD = """
import sys
sys.modules.update(dict.fromkeys(["tensorflow", "tensorflow_text", "keras", "jax"]))
from mkdocs.__main__ import cli
cli(["build", "--strict", "--site-dir", sys.argv[1]])
"""
HINT = "A new page of docs/ needs a line in `nav` of mkdocs.yml; a link needs a page, and an anchor a heading."
CATALOGS = ("models", "tasks", "sources", "preprocessors", "targets", "optimizers", "schedules", "averages", "adapters")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=PROJECT, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert done.returncode == 0, f"{output}\n{HINT}"
    assert "WARNING" not in output and "ERROR" not in output, f"{output}\n{HINT}"
    return folder


def anchors(page):
    return set(re.findall(r'id="([^"]+)"', page.read_text(encoding="utf-8")))


def test_every_page_is_in_the_navigation(site):
    home = site / "index.html"
    navigation = home.read_text(encoding="utf-8").partition('data-md-component="content"')[0]
    linked = {(home.parent / link).resolve() for link in re.findall(r'<a href="([^"#:]+)"', navigation)}
    pages = {path for path in (PROJECT / "docs").rglob("*.md") if "site" not in path.parts}
    missing = {
        str(page.relative_to(PROJECT))
        for page in pages
        if site / page.relative_to(PROJECT / "docs").with_suffix(".html") not in linked
    }
    assert not missing, f"add to `nav` in mkdocs.yml: {', '.join(sorted(missing))}"


def test_every_public_name_has_an_entry(site):
    found = set().union(*map(anchors, (site / "reference/api").glob("*.html")))
    packages = {f"tfattn.{name}" for name in ("layers", "models")}
    assert {f"tfattn.{name}" for name in tfattn.__all__} - packages <= found
    for package in packages:
        public = {f"{package}.{name}" for name in getattr(tfattn, package.removeprefix("tfattn.")).__all__}
        assert public <= found


@pytest.mark.parametrize("catalog", CATALOGS)
def test_every_key_has_an_entry(site, catalog):
    keys = {f"{name}.{key}" for name in registry.names(catalog) for key in keys_of(catalog, name)}
    assert keys <= anchors(site / f"reference/configuration/{catalog}.html")


def test_every_command_has_an_entry(site):
    from typer.main import get_command

    from tfattn import cli

    assert set(get_command(cli.app).commands) <= anchors(site / "reference/commands.html")


def test_search_finds_words_of_all_kinds_of_pages(site):
    documents = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    for word, page in {
        "tfattn.layers.MultiHeadAttention": "reference/api/layers.html",
        "label_smoothing": "reference/configuration/tasks.html",
        "logprobs": "streaming.html",
        "KServe": "deployment.html",
        "load_wine": "notebooks/tables.html",
    }.items():
        pages = {found["location"].partition("#")[0] for found in documents if word in found["title"] + found["text"]}
        assert page in pages, word
    # For pages that are opened from the disk.
    assert (site / "search/search_index.js").read_text(encoding="utf-8").startswith("var __index = ")


def test_pages_load_nothing_from_other_sites(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:)?//', page.read_text(encoding="utf-8")
        )
        assert not loaded, page


@pytest.fixture(scope="module")
def chromium():
    program = browser.find()
    if program is None:
        pytest.skip("needs Chromium: make browser")
    with browser.browser(program) as opened:
        yield opened


def test_search_works_in_pages_that_are_opened_from_the_disk(site, chromium):
    page = chromium.page(f"file://{site}/index.html?q=speculative")
    page.wait("document.querySelectorAll('.md-search-result__item a').length > 0")
    assert any("guided_answers.html" in link for link in page.run("[...document.links].map(link => link.href)"))


@pytest.mark.parametrize(
    "path", ["index", "tutorials/csv_to_endpoint", "reference/api/layers", "reference/configuration/models", "tables"]
)
def test_pages_fit_a_phone(site, chromium, path):
    page = chromium.page(f"file://{site}/{path}.html", width=360)
    assert page.run("document.documentElement.scrollWidth") <= 360
