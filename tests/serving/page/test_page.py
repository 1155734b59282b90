"""The page at / in a browser, with the built-in server and a text classifier."""

import json
import subprocess

import pytest

from benchmarks.serving.running import running
from tests.serving.page.served import LABELS

REPORT = 'It\'s the "机械" pump:\ncoolant is pooling \\ $HOME `id` !!'
CONTROL, SHIFT = 2, 8


def ask(page, text: str) -> None:
    page.type(text)
    page.press("Enter")
    page.wait("!document.querySelector('#answer').hidden")


def bars(page) -> dict[str, float]:
    words = [line.split("\n") for line in page.texts("#scores li")]
    return {label: float(score) for label, score in words}


def test_a_report_is_answered_with_label_scores_and_time(page):
    ask(page, REPORT)
    assert page.text("#label") == "Leak"
    assert bars(page) == {"Leak": 0.75, "机械": 0.25, LABELS[2]: 0.0}
    widths = page.run("[...document.querySelectorAll('.filled')].map((one) => one.style.inlineSize)")
    assert widths == ["75%", "25%", "0%"]
    number, unit = page.text("#milliseconds").split()
    assert float(number) > 0
    assert unit == "ms"


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_command_line_asks_the_same(page, server, shell):
    ask(page, REPORT)
    line = page.text("#curl")
    assert line.startswith("curl -d '")
    done = subprocess.run([shell, "-c", line], capture_output=True, text=True, check=True, timeout=20)
    assert json.loads(done.stdout) == json.loads(page.run("document.querySelector('#raw').textContent"))
    page.click("#copy")
    page.wait("document.querySelector('#copy').innerText === 'Copied'")
    assert page.run("navigator.clipboard.readText()") == line


def test_what_is_typed_and_what_is_answered_stays_text(page):
    markup = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    ask(page, f"</textarea>{markup}'; echo owned")
    assert page.text("#label") == LABELS[1]
    assert LABELS[2] in bars(page)
    assert page.run("document.images.length") == 0
    assert page.run("document.title") == "tfattn"
    done = subprocess.run(["sh", "-c", page.text("#curl")], capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.rstrip().startswith("{")


def test_it_asks_nobody_but_the_server_and_breaks_no_rule_of_its_own(page, server):
    ask(page, REPORT)
    addresses = [one["request"]["url"] for one in page.told("Network.requestWillBeSent")]
    assert all(address.startswith(f"{server}/") for address in addresses)
    assert {address.removeprefix(server) for address in addresses} >= {"/", "/page.js", "/page.css", "/models.json"}
    document = page.told("Network.responseReceived")[0]["response"]
    policy = document["headers"]["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "frame-ancestors 'none'" in policy
    assert page.told("Log.entryAdded") == []
    assert page.told("Runtime.exceptionThrown") == []


def test_the_keyboard_is_enough(page):
    page.type("Sorter leaks.")
    page.press("Enter", modifiers=SHIFT)
    assert page.run("document.activeElement.value") == "Sorter leaks.\n"
    assert page.run("document.querySelector('#answer').hidden")
    page.press("Enter", modifiers=CONTROL)
    page.wait("!document.querySelector('#answer').hidden")
    page.press("Tab")
    assert page.run("document.activeElement.id") == "send"


def test_a_screen_reader_knows_the_name_of_every_control(page):
    ask(page, REPORT)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = [one for one in nodes if one.get("role", {}).get("value") in ("combobox", "textbox", "button", "list")]
    names = [one["name"]["value"] for one in controls]
    assert {"Model", "Version", "text", "Send", "Copy", "Scores"} <= set(names)
    assert all(names)


def test_numbers_and_lists_keep_what_was_typed(page):
    page.choose("#model", "numbers")
    page.wait("document.querySelectorAll('#inputs .field').length === 3")
    page.run("document.querySelector('#input-0').focus()")
    page.type("9007199254740993")
    page.run("document.querySelector('#input-1').focus()")
    page.type("-.5")
    page.run("document.querySelector('#input-2').focus()")
    page.type("[1,\n 3e0]")
    page.press("Enter", modifiers=CONTROL)
    page.wait("!document.querySelector('#answer').hidden")
    assert page.texts("#outputs th") == ["broken", "next", "scaled"]
    assert page.texts("#outputs td") == ["[-Infinity]", "9007199254740994", "[[-0.5, -1.5]]"]
    done = subprocess.run(["sh", "-c", page.text("#curl")], capture_output=True, text=True, check=True, timeout=20)
    assert json.loads(done.stdout)["outputs"]["next"] == 9007199254740994


def test_an_error_is_shown_in_the_servers_words(page):
    page.choose("#model", "numbers")
    page.wait("document.querySelectorAll('#inputs .field').length === 3")
    for index, words in enumerate(["1", "2", '["a", "b"]']):
        page.run(f"document.querySelector('#input-{index}').focus()")
        page.type(words)
    page.press("Enter", modifiers=CONTROL)
    page.wait("document.querySelector('#failure')?.hidden === false")
    assert page.text("#failure-title") == "The server answered 400"
    done = subprocess.run(["sh", "-c", page.text("#curl")], capture_output=True, text=True, check=True, timeout=20)
    assert page.text("#failure-message") == json.loads(done.stdout)["error"]
    page.type("[1, 2")
    page.press("Enter", modifiers=CONTROL)
    page.wait("document.querySelector('#failure-title').innerText !== 'The server answered 400'")
    assert page.text("#failure-message").startswith("pair is not JSON: ")
    page.type("[1, 2]")
    page.press("Enter", modifiers=CONTROL)
    page.wait("document.querySelector('#failure').hidden")


def test_a_labelled_version_can_be_chosen(page):
    assert page.texts("#version option") == ["latest (7)", "in use (7)"]
    page.choose("#version", "in use (7)")
    page.wait("document.querySelector('#inputs textarea') === document.activeElement")
    ask(page, "It leaks.")
    assert page.text("#label") == "Leak"
    assert page.text("#curl").endswith("/v1/models/reports/labels/in%20use:predict")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 1280])
def test_it_fits_a_phone_and_a_wide_screen_in_light_and_dark(chromium, server, width, dark, tmp_path):
    page = chromium.page(f"{server}/#", width=width, dark=dark)
    page.wait("document.querySelector('#inputs textarea')")
    page.choose("#model", "reports")
    page.wait("document.querySelector('#inputs textarea') === document.activeElement")
    ask(page, REPORT)
    assert page.run("document.documentElement.scrollWidth") <= width
    red, green, blue = page.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue < 384) == dark
    page.picture(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_a_token_is_asked_for_once_the_server_wants_one(chromium, folder, tmp_path):
    (tmp_path / "token").write_text("open sesame".replace(" ", "-"))
    (tmp_path / "token").chmod(0o600)
    with running(folder / "reports", worker_threads=1, token_file=tmp_path / "token") as server:
        page = chromium.page(f"{server.rest}/")
        page.wait("document.activeElement.id === 'token'")
        assert page.text("#failure-title") == "The server answered 401"
        page.type("wrong")
        page.press("Enter")
        page.wait("document.body.ariaBusy === 'false'")
        assert page.text("#failure-title") == "The server answered 401"
        page.type("open-sesame")
        page.press("Enter")
        page.wait("document.querySelector('#inputs textarea') === document.activeElement")
        ask(page, REPORT)
        assert page.text("#label") == "Leak"
        line = page.text("#curl")
        assert "open-sesame" not in line
        environment = {"TOKEN": "open-sesame", "PATH": "/usr/bin:/bin"}
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True, env=environment)
        assert json.loads(done.stdout)["predictions"][0]["label"] == "Leak"
        stored = page.run("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
        assert "sesame" not in stored


def test_the_page_recovers_when_the_server_answers_again(page):
    page.call("Network.setBlockedURLs", urls=["*models.json*"])
    page.call("Page.reload")
    page.wait("document.querySelector('#failure')?.hidden === false")
    assert page.run("document.querySelector('#inputs').childElementCount") == 0
    page.call("Network.setBlockedURLs", urls=[])
    page.wait("document.querySelector('#failure').hidden && document.querySelector('#input-0')")
