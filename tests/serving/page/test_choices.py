"""The page for a model that chooses: a choice on each line, and a bar for each."""

import json

from tests.serving.page.served import ENDINGS

CONTROL = 2


def ask(page) -> dict:
    """Submit the form with the keyboard and return the sent row."""
    page.press("Enter", modifiers=CONTROL)
    page.wait("document.body.ariaBusy === 'false' && !document.querySelector('#answer').hidden")
    return json.loads(page.told("Network.requestWillBeSent")[-1]["request"]["postData"])["instances"][0]


def test_each_line_is_a_choice_with_a_bar_of_its_own(endings):
    endings.click("#example")
    assert ask(endings) == {"context": "He", "choices": ENDINGS}
    assert endings.text("#label") == ENDINGS[1]
    bars = [tuple(line.split("\n")) for line in endings.texts("#scores li")]
    assert bars == [(ENDINGS[1], "0.762"), (ENDINGS[0], "0.238")]
    assert endings.texts("#scores .chosen .name") == [ENDINGS[1]]
    assert endings.run("document.querySelector('#outputs').hidden"), "all that was answered is shown"


def test_enter_begins_a_line_and_blank_lines_are_no_choices(endings):
    assert endings.text("#hint") == "Ctrl+Enter sends"
    endings.run("document.querySelector('#input-1').value = 'ab\\n \\nabcdef\\n'")
    endings.run("document.querySelector('#input-1').focus()")
    assert ask(endings)["choices"] == ["ab", "abcdef"]
    assert [line.split("\n")[0] for line in endings.texts("#scores li")] == ["abcdef", "ab"]
