"""The attention views in a browser: standalone and in the server's page."""

import io
import json

import numpy as np
import pytest
from matplotlib.image import imsave

from tests.attention.conftest import outputs
from tfattn.attention.payload import KEPT, encode
from tfattn.attention.views import of_outputs

SENTENCE = "the pump leaks"


@pytest.fixture(scope="module")
def views():
    found = outputs(24, layers=3, heads=4)
    told = {"attributions": np.linspace(-0.1, 0.3, 26), "score": 0.9, "baseline_score": 0.2, "scored": "Leak"}
    return of_outputs("sample <b>", found, found, told)


@pytest.fixture
def own(chromium, views, tmp_path):
    """The standalone page."""
    path = tmp_path / "attention.html"
    path.write_text(views.html(), encoding="utf-8")
    page = chromium.page(path.as_uri())
    page.wait("document.querySelector('.tokens li')")
    return page


def tab(page, name):
    page.click(f'.tabs [data-tab="{name}"]')


def quiet(page) -> bool:
    return not page.told("Runtime.exceptionThrown") and not page.told("Log.entryAdded")


def test_the_page_unpacks_the_weights_of_the_model(looks, views):
    data = json.dumps(encode(views))
    script = f"""import("./weights.js").then(async ({{ unpacked, lensOf }}) => {{
        const views = await unpacked({data});
        return views.parts.map((part) => {{
            const lens = lensOf(views, part, {{ words: false, special: true, from: "all", to: "all" }});
            const rows = [...Array(lens.rows.length).keys()];
            const all = (count, made) => [...Array(count).keys()].map(made);
            const weights = (layer, head) => rows.map((row) => [...lens.weights(layer, head, row).sums]);
            return all(part.layers, (layer) => all(part.heads, (head) => weights(layer, head)));
        }});
    }})"""
    for part, found in zip(views.parts, looks.run(script), strict=True):
        found = np.array(found)
        kept = found > 0
        assert kept.sum(axis=-1).max() <= KEPT
        assert np.abs(found - part.weights)[kept].max() <= 1 / 255


def test_words_are_sums_over_keys_and_means_over_queries(looks, views):
    data = json.dumps(encode(views))
    script = f"""import("./weights.js").then(async ({{ unpacked, lensOf }}) => {{
        const views = await unpacked({data});
        const lens = lensOf(views, views.parts[0], {{ words: true, special: true, from: "all", to: "all" }});
        const told = ({{ sums, rest }}) => [[...sums], rest];
        return lens.rows.map((_, row) => told(lens.weights(1, 2, row)));
    }})"""
    weights = views.parts[0].weights[1, 2]
    words = weights.reshape(12, 2, 12, 2).sum(axis=3).mean(axis=1)
    for row, (found, rest) in enumerate(looks.run(script)):
        left = words[row] - np.array(found)
        assert left.min() > -0.01 and left.sum() == pytest.approx(rest, abs=0.03)


def test_a_token_under_the_mouse_tells_what_it_looks_at(own, views):
    own.run(
        "document.querySelectorAll('.tokens.rows li')[5].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    best = int(views.parts[0].weights[0, :, 5].mean(axis=0).argmax())
    assert own.text(".told").startswith(f"“token5” looks at token{best} ")
    assert "left out" in own.text(".told")
    assert quiet(own)


def test_keys_walk_through_tokens_and_tabs(own):
    own.run("document.querySelector('.tokens.rows li').focus()")
    press = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
    own.run(press % "ArrowDown")
    assert own.text(".told").startswith("“token1” looks at")
    own.run(press % "ArrowRight")
    assert own.text(".told").startswith("“token1” is looked at by")
    own.run("document.querySelector('.tabs button').focus()")
    own.run(press % "ArrowRight")
    assert own.run("document.activeElement.dataset.tab") == "model"
    assert quiet(own)


def test_special_tokens_words_and_segments_can_be_chosen(own):
    count = "document.querySelectorAll('.tokens.rows li').length"
    assert own.run(count) == 24
    own.click("#view-special")
    assert own.run(count) == 23
    own.click("#view-words")
    assert own.run(count) == 12
    own.choose("#view-from", "B")
    assert own.run(count) == 6
    assert own.run("document.querySelectorAll('.tokens.columns li').length") == 12
    assert quiet(own)


def test_every_head_has_a_thumbnail_which_opens(own):
    tab(own, "model")
    assert own.run("document.querySelectorAll('.thumbnails button').length") == 12
    own.click(".thumbnails tr:nth-child(3) td:nth-of-type(4) button")
    assert own.text(".large h3").startswith("Layer 2, head 4")
    own.click(".large h3 button")
    assert own.run("document.querySelector('#view-layer').value") == "1"
    assert own.run("document.querySelectorAll('.head-buttons [aria-pressed=true]').length") == 1
    assert quiet(own)


def test_neurons_and_contributions_are_shown(own):
    tab(own, "neurons")
    assert own.run("document.querySelector('.neurons').width") > 100
    tab(own, "contributions")
    assert "Contributions to Leak" in own.text(".view-body")
    assert own.run("document.querySelectorAll('.chips span').length") == 2 * 24
    assert "is not an explanation" in own.text(".caution")
    assert quiet(own)


def test_the_page_asks_nobody(own):
    tab(own, "model")
    asked = [one["request"]["url"] for one in own.told("Network.requestWillBeSent")]
    assert all(url.startswith(("file:", "blob:")) for url in asked)


def test_the_server_shows_the_same_views_of_what_was_asked(looks):
    looks.type(SENTENCE)
    looks.press("Enter")
    looks.wait("!document.querySelector('#looked').hidden")
    looks.click("#looked summary")
    looks.wait("document.querySelector('#looked-views .tokens li')")
    assert looks.texts("#looked-views .tokens.rows li") == SENTENCE.split()
    looks.run(
        "document.querySelectorAll('.tokens.rows li')[2].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))"
    )
    assert looks.text("#looked-views .told") == "“leaks” looks at the 75 %, leaks 25 %"
    assert quiet(looks)


def test_a_model_without_the_signature_offers_no_views(page):
    page.type("leak")
    page.press("Enter")
    page.wait("!document.querySelector('#answer').hidden")
    assert page.run("document.querySelector('#looked').hidden")


def test_patches_are_shown_over_their_image(chromium, tmp_path):
    """A patch that all look at keeps its colour, and the others go dark."""
    image = io.BytesIO()
    imsave(image, np.full((4, 4, 3), [0.0, 0.0, 1.0]), format="png")
    names = ["[CLS]", *(f"patch {number}" for number in range(6))]
    weights = np.zeros((1, 2, 7, 7), "float32")
    weights[..., 3] = 1.0  # the third patch, row 1 of 2, column 3 of 3
    numbers = np.arange(7)
    told = {"tokens": names, "word_texts": names, "words": numbers, "segments": 0 * numbers, "is_special": numbers == 0}
    views = of_outputs("vit", {**told, "grid": (2, 3), "encoder_weights": weights}, image=image.getvalue())
    path = tmp_path / "image.html"
    path.write_text(views.html(), encoding="utf-8")
    page = chromium.page(path.as_uri())
    pixel = """[...document.querySelector(".patches").getContext("2d").getImageData(%d, %d, 1, 1).data]"""
    page.wait("document.querySelector('.patches')")
    page.wait(f"({pixel % (400, 60)})[2] === 255")
    assert page.run(pixel % (400, 60)) == [0, 0, 255, 255]
    assert page.run(pixel % (60, 200))[2] < 100
    assert "The brightest patch gets 100 %; outside of the image 0.0 %" in page.text(".told")
    logged = [one["entry"]["text"] for one in page.told("Log.entryAdded")]
    assert not page.told("Runtime.exceptionThrown") and all("willReadFrequently" in text for text in logged)


def test_heads_are_toggled_by_a_click_and_left_alone_by_two(own):
    pressed = "[...document.querySelectorAll('.head-buttons [aria-pressed=true]')].map((one) => one.innerText)"
    own.click(".head-buttons button:nth-child(2)")
    assert own.run(pressed) == ["1", "3", "4"]
    own.run("document.querySelector('.head-buttons button').dispatchEvent(new MouseEvent('click', {detail: 2}))")
    assert own.run(pressed) == ["1"]
    own.click(".head-buttons .all")
    assert own.run(pressed) == ["1", "2", "3", "4"]


def test_heads_fit_on_a_phone(own):
    own.resize(390, 844)
    own.wait("document.documentElement.scrollWidth <= 390")
    right = own.run("document.querySelector('.tokens.columns li').getBoundingClientRect().right")
    assert right <= 390 and own.run("document.querySelector('.scroller .gap').offsetWidth") >= 80
