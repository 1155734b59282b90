"""A server with its page, and a browser that looks at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.serving.running import running
from tests.serving.page import browser
from tests.serving.page.served import Numbers, Reports, save


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    reports, numbers = Reports(), Numbers()
    save(reports, folder / "reports/7", serving_default=reports.serve, classify=reports.classify)
    save(numbers, folder / "numbers/1", serving_default=numbers.serve)
    models = {"reports": 'version_labels { key: "in use" value: 7 }', "numbers": ""}
    entries = "".join(
        f'config {{ name: "{name}" base_path: "{folder / name}" model_platform: "tensorflow" {more} }}\n'
        for name, more in models.items()
    )
    (folder / "models.config").write_text(f"model_config_list {{ {entries} }}")
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[browser.Browser]:
    program = browser.find()
    if program is None:
        pytest.skip("needs Chromium to look at the page: apt-get install chromium")
    with browser.browser(program) as running:
        yield running


@pytest.fixture(scope="session")
def server(chromium, folder) -> Iterator[str]:
    with running(folder, worker_threads=1) as server:
        yield server.rest


@pytest.fixture
def page(chromium, server) -> browser.Page:
    """The page, ready to type a report."""
    page = chromium.page(f"{server}/")
    page.wait("document.querySelector('#model').value")
    page.choose("#model", "reports")
    page.wait("document.querySelector('#inputs textarea') === document.activeElement")
    return page
