"""A server with its page, and a browser that looks at it."""

from pathlib import Path

import pytest

from benchmarks.serving.running import running
from tests.serving.page import browser
from tests.serving.page.served import (
    CUSTOMERS_CARD,
    ENDINGS_CARD,
    GREETINGS_CARD,
    IMAGES_CARD,
    PRICES_CARD,
    TAGS_CARD,
    VECTORS_CARD,
    Blanks,
    Customers,
    Endings,
    Greetings,
    Images,
    Looks,
    Numbers,
    Prices,
    Reports,
    Vectors,
    save,
)
from tfattn import files


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    reports, numbers, customers, greetings, prices = Reports(), Numbers(), Customers(), Greetings(), Prices()
    save(reports, folder / "reports/7", serving_default=reports.serve, classify=reports.classify)
    save(numbers, folder / "numbers/1", serving_default=numbers.serve)
    save(customers, folder / "customers/1", serving_default=customers.serve)
    save(greetings, folder / "greetings/1767355200", serving_default=greetings.serve)
    save(prices, folder / "prices/1", serving_default=prices.predict)
    save(prices, folder / "tags/1", serving_default=prices.tags)
    looks = Looks()
    save(looks, folder / "looks/1", serving_default=looks.serve, attention=looks.attention)
    blanks = Blanks()
    save(blanks, folder / "blanks/1", serving_default=blanks.serve, all_masks=blanks.every)
    save(endings := Endings(), folder / "endings/1", serving_default=endings.serve)
    save(images := Images(), folder / "images/1", serving_default=images.serve)
    files.write_json(folder / "images/1/assets.extra/card.json", IMAGES_CARD)
    vectors = Vectors()
    save(vectors, folder / "vectors/1", serving_default=vectors.serve, neighbors=vectors.neighbors)
    files.write_json(folder / "vectors/1/assets.extra/card.json", VECTORS_CARD)
    files.write_json(folder / "endings/1/assets.extra/card.json", ENDINGS_CARD)
    files.write_json(folder / "prices/1/assets.extra/card.json", PRICES_CARD)
    files.write_json(folder / "tags/1/assets.extra/card.json", TAGS_CARD)
    files.write_json(folder / "customers/1/assets.extra/card.json", CUSTOMERS_CARD)
    files.write_json(folder / "greetings/1767355200/assets.extra/card.json", GREETINGS_CARD)
    models = {"reports": 'version_labels { key: "in use" value: 7 }', "numbers": "", "customers": ""}
    models |= {
        "greetings": "",
        "prices": "",
        "tags": "",
        "looks": "",
        "blanks": "",
        "endings": "",
        "vectors": "",
        "images": "",
    }
    entries = "".join(
        f'config {{ name: "{name}" base_path: "{folder / name}" model_platform: "tensorflow" {more} }}\n'
        for name, more in models.items()
    )
    (folder / "models.config").write_text(f"model_config_list {{ {entries} }}")
    return folder


@pytest.fixture(scope="session")
def server(chromium, folder, until_left) -> str:
    return until_left(Path(__file__).parent).enter_context(running(folder, worker_threads=1)).rest


@pytest.fixture
def page(chromium, server) -> browser.Page:
    """The page, ready to type a report."""
    return opened(chromium, server, "reports")


@pytest.fixture
def customers(chromium, server) -> browser.Page:
    """The page, ready for a row of a table."""
    return opened(chromium, server, "customers")


@pytest.fixture
def greetings(chromium, server) -> browser.Page:
    """The page, ready to type a text to translate."""
    return opened(chromium, server, "greetings")


@pytest.fixture
def looks(chromium, server) -> browser.Page:
    """The page, ready for a text of which attention is shown."""
    return opened(chromium, server, "looks")


@pytest.fixture
def prices(chromium, server) -> browser.Page:
    """The page, ready for a row of which a number is predicted."""
    return opened(chromium, server, "prices")


@pytest.fixture
def tags(chromium, server) -> browser.Page:
    """The page, ready for a row that may get any number of labels."""
    return opened(chromium, server, "tags")


@pytest.fixture
def blanks(chromium, server) -> browser.Page:
    """The page, ready for a text with [MASK] in it."""
    return opened(chromium, server, "blanks")


@pytest.fixture
def endings(chromium, server) -> browser.Page:
    """The page, ready for a context with choices."""
    return opened(chromium, server, "endings")


@pytest.fixture
def vectors(chromium, server) -> browser.Page:
    """The page, ready for a word with its neighbors."""
    return opened(chromium, server, "vectors")


def opened(chromium: browser.Browser, server: str, model: str) -> browser.Page:
    page = chromium.page(f"{server}/")
    page.wait("document.querySelector('#model').value && document.body.ariaBusy === 'false'")
    page.choose("#model", model)
    page.wait("document.body.ariaBusy === 'false' && document.activeElement.id === 'input-0'")
    return page


@pytest.fixture
def images(chromium, server) -> browser.Page:
    """The page for a model of images."""
    return opened(chromium, server, "images")
