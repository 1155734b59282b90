"""The page with a model card: drop-downs, examples, names, dates, metrics and warnings."""

import json
import subprocess

import pytest

from tests.serving.page.served import CUSTOMERS_CARD, ENDINGS, LEAVES, PLANS, SHADES, STAYS, TAGS, WHITE
from tfattn.trained import request_examples

CONTROL = 2
NO_VALUE = "(no value)"


def sent(page) -> dict:
    """Submit the form with the keyboard and return the sent row."""
    page.press("Enter", modifiers=CONTROL)
    page.wait("document.body.ariaBusy === 'false' && !document.querySelector('#answer').hidden")
    body = page.told("Network.requestWillBeSent")[-1]["request"]["postData"]
    return json.loads(body)["instances"][0]


def bars(page, selector: str) -> list[tuple[str, str]]:
    return [tuple(line.split("\n")) for line in page.texts(f"{selector} li")]


def test_categories_are_chosen_in_the_order_of_the_card_and_may_be_missing(customers):
    assert customers.texts("#inputs label") == ["months 月份, 1 to 72", "plan"]
    assert customers.texts("#input-1 option") == ["Choose…", *PLANS, NO_VALUE]
    customers.type("7.5")
    customers.run("document.querySelector('#input-1').focus()")
    for plan in PLANS:
        customers.choose("#input-1", plan)
        assert sent(customers) == {"months": 7.5, "plan": plan}
    customers.choose("#input-1", NO_VALUE)
    assert sent(customers) == {"months": 7.5, "plan": ""}


def test_a_number_may_be_left_out_a_choice_may_not(customers):
    customers.press("Enter")
    assert customers.run("document.activeElement.id") == "input-1", "the browser says that it has to be chosen"
    customers.choose("#input-1", "yearly")
    assert str(sent(customers)["months"]) == "nan"
    assert bars(customers, "#scores") == [(LEAVES, "0.500"), (STAYS, "0.500")]


def test_examples_fill_in_every_field_one_after_the_other(customers):
    customers.click("#example")
    assert sent(customers) == {"months": 12, "plan": "monthly"}
    customers.click("#example")
    filled = customers.run("[...document.querySelectorAll('#inputs :is(input, select)')].map((one) => one.value)")
    assert filled == ["", f"{len(PLANS)}"], "neither has a value"


def answered(line: str) -> dict:
    """Run a command in a shell, and return the prediction that it prints."""
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, timeout=20)
    (found,) = json.loads(done.stdout)["predictions"]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("customers", {"label": STAYS}),
        ("greetings", {"text": "שלום عالم"}),
        ("prices", {"prediction": 2 / 3}),
        ("endings", {"choice": ENDINGS[1]}),
    ],
)
def test_the_command_of_an_example_asks_the_model(name, expected, request):
    page = request.getfixturevalue(name)
    assert page.text("#command-title") == "An example from a shell"
    found = answered(page.text("#curl"))
    found = {"prediction": found} if not isinstance(found, dict) else found
    for output, value in expected.items():
        assert found[output] == (pytest.approx(value) if isinstance(value, float) else value)


def test_the_command_of_an_image_reads_a_file(images, tmp_path):
    (tmp_path / "image.png").write_bytes(WHITE)
    done = subprocess.run(
        ["sh", "-c", images.text("#curl")], capture_output=True, text=True, check=True, timeout=20, cwd=tmp_path
    )
    assert json.loads(done.stdout)["predictions"][0]["label"] == SHADES[1]


def test_the_command_of_a_card_asks_the_model(server):
    line = request_examples.curl("customers", CUSTOMERS_CARD["examples"][0])
    assert answered(line.replace(request_examples.SERVER, server))["label"] == STAYS


def test_hostile_labels_in_the_answer_stay_text(customers):
    customers.type("7")
    customers.choose("#input-1", PLANS[2])
    sent(customers)
    assert customers.text("#label") == LEAVES
    assert bars(customers, "#scores")[0] == (LEAVES, "0.750")
    assert customers.run("document.querySelectorAll('main :is(b, i, img, script)').length") == 0
    assert customers.run("document.title") == "tfattn"
    script = """import('./answer.js').then(({ showAnswer }) => showAnswer(
        { label: WORD, note: [WORD], truncated: true }, [[WORD, 0.5]], null, { text: WORD, milliseconds: 1 }))"""
    for word in ("</td><script>document.title=1</script>", "| x", "```", "---", "<img src=x onerror=document.title=1>"):
        customers.run(script.replace("WORD", json.dumps(word)))
        assert (customers.text("#label"), bars(customers, "#scores")) == (word, [(word, "0.500")])
        assert customers.run("document.querySelector('#raw').textContent") == word
        assert customers.run("document.querySelectorAll('main :is(b, i, img, script)').length") == 0
    assert customers.run("document.title") == "tfattn"


def test_every_number_has_a_name(customers):
    customers.click("#example")
    sent(customers)
    assert customers.text("#label") == STAYS
    assert bars(customers, "#scores") == [(STAYS, "0.750"), (LEAVES, "0.250")]
    assert customers.texts("#scores .chosen .name") == [STAYS]
    assert customers.texts("#groups h3") == ["Attention to each column"]
    assert bars(customers, "#groups") == [("months", "0.750"), ("plan", "0.250")]
    words = "“stays” is given from a score of 0.500 on. Prediction set (coverage 90 %): stays."
    assert customers.text("#threshold") == words
    assert customers.run("document.querySelector('#outputs').hidden"), "all of it has been said"
    asked = [one["request"]["url"].rpartition(":")[2] for one in customers.told("Network.requestWillBeSent")]
    assert "classify" not in asked, "the names are known"


def test_a_number_is_the_answer(prices):
    prices.type("5")
    sent(prices)
    assert prices.text("#label") == "1.66667" and bars(prices, "#scores") == []
    assert prices.run("document.querySelector('#outputs').hidden")
    quality = prices.text("#quality")
    assert "mean absolute error 0.1235 (0.1 to 0.15), R² 0.750" in quality
    assert quality.endswith("For comparison: always predicting the mean would reach 0.5.")


def test_all_labels_that_are_given_stand_first_and_every_one_has_a_bar(tags):
    tags.type("6")
    sent(tags)
    assert tags.text("#label") == f"large, {TAGS[2]}"
    assert bars(tags, "#scores") == [("large", "0.750"), (TAGS[2], "0.625"), ("small", "0.250")]
    assert tags.texts("#scores .chosen .name") == ["large", TAGS[2]]
    assert tags.text("#threshold") == "A label is given from a score of 0.625 on."
    assert tags.run("document.querySelector('#outputs').hidden") and tags.texts("#groups h3") == []
    assert "always giving the most frequent labels would reach 95.0%" in tags.text("#quality")


def test_warnings_are_sentences(customers):
    customers.type("101")
    customers.choose("#input-1", PLANS[2])
    sent(customers)
    words = "months is outside of what the model was trained on, 1 to 72."
    assert customers.texts("#warnings .warning") == [words]
    customers.run("document.querySelector('#input-0').focus()")
    customers.type("11")
    sent(customers)
    assert customers.texts("#warnings .warning") == []


def test_a_category_that_no_training_row_had_is_said(customers):
    script = """import('./answer.js').then(({ showAnswer }) =>
        showAnswer({ label: "x", unknown_categories: "plan, area" }, [], null, { text: "", milliseconds: 1 }))"""
    customers.run(script)
    assert customers.texts("#warnings .warning") == [
        "plan is as it was in no training row.",
        "area is as it was in no training row.",
    ]


def test_a_version_says_when_it_was_exported_and_how_good_it_is(customers, greetings):
    (line,) = customers.texts("#version option")
    assert line.startswith("latest (1) · 2 Jan 2026, ") and line.endswith(" · accuracy 90.0%")
    assert customers.text("#quality") == (
        "On test rows: accuracy 90.0% (85.0% to 95.0%), ROC AUC 87.5%; in brackets the 95% interval. "
        "For comparison: always giving the most frequent label would reach 70.0%."
    )
    (line,) = greetings.texts("#version option")
    assert line.startswith("latest · 2 Jan 2026, ") and line.endswith(" · BLEU 34.3")


def test_a_model_no_better_than_its_baseline_is_said_so(customers, greetings):
    assert customers.run("document.querySelector('#quality').className") == "hint"
    assert greetings.run("document.querySelector('#quality').className") == "warning"
    words = "It is not better than without a model: copying the source would reach 33.0."
    assert (
        greetings.text("#quality")
        == f"On validation rows: BLEU 34.3 (32.0 to 36.0), perplexity 19.08; in brackets the 95% interval. {words}"
    )


def test_a_translation_stands_first_and_its_score_after_it(greetings):
    greetings.type("Noa")
    assert sent(greetings) == "Noa"
    assert greetings.text("#label") == "שלום Noa"
    assert greetings.run("getComputedStyle(document.querySelector('#label')).direction") == "rtl"
    assert greetings.texts("#outputs th") == ["score"] and greetings.texts("#outputs td") == ["-0.25"]
    assert greetings.texts("#warnings .warning") == []


def test_a_text_that_was_cut_is_said_to_be(greetings):
    greetings.type("Methuselah")
    sent(greetings)
    words = "The text was cut after 5 tokens: the model did not read the rest."
    assert greetings.texts("#warnings .warning") == [words]


@pytest.mark.parametrize("text", ["", " \n\u3000"])
def test_an_empty_text_is_said_to_be_empty_and_not_sent(greetings, text):
    greetings.type(text)
    greetings.press("Enter", modifiers=CONTROL)
    greetings.wait("!document.querySelector('#notice').hidden")
    assert greetings.text("#notice") == "The text is empty: there is nothing to answer."
    assert all(one["request"]["method"] == "GET" for one in greetings.told("Network.requestWillBeSent"))
    greetings.click("#example")
    assert sent(greetings) == "عالم"
    assert greetings.run("document.querySelector('#notice').hidden")


def test_what_a_card_says_stays_text(customers):
    customers.click("#example")
    sent(customers)
    assert customers.run("document.querySelectorAll('main :is(b, i, img, script)').length") == 0
    customers.click("#input-1")
    assert customers.run("document.title") == "tfattn"
    assert customers.told("Log.entryAdded") == []
    assert customers.told("Runtime.exceptionThrown") == []


@pytest.mark.parametrize("model", ["customers", "greetings"])
def test_they_fit_a_phone(chromium, server, model):
    page = chromium.page(f"{server}/", width=320)
    page.wait("document.querySelector('#model').value && document.body.ariaBusy === 'false'")
    page.choose("#model", model)
    page.wait("document.body.ariaBusy === 'false' && document.activeElement.id === 'input-0'")
    page.click("#example")
    sent(page)
    assert page.run("document.documentElement.scrollWidth") <= 320
