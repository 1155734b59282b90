"""The page for a model that fills in [MASK]: a bar for each token, and a group of them for each of several masks."""

from tests.serving.page.served import WORDS


def ask(page, text: str) -> None:
    page.type(text)
    page.press("Enter")
    page.wait("document.body.ariaBusy === 'false' && !document.querySelector('#answer').hidden")


def bars(page, selector: str) -> list[tuple[str, str]]:
    return [tuple(line.split("\n")) for line in page.texts(f"{selector} li")]


FILLED = list(zip(WORDS, ("0.500", "0.250", "0.063"), strict=True))


def test_a_mask_is_shown_filled_with_a_bar_for_each_token(blanks):
    ask(blanks, "to the [MASK] .")
    assert blanks.text("#label") == "to the 天 ."
    assert bars(blanks, "#scores") == FILLED
    assert blanks.texts("#scores .chosen .name") == ["天"]
    assert blanks.run("document.querySelector('#outputs').hidden"), "all that was answered is shown"


def test_each_of_several_masks_has_bars_of_its_own(blanks):
    ask(blanks, "the [MASK] to the [MASK]")
    assert blanks.text("#label") == "天 … 天"
    assert blanks.texts("#groups h3") == ["[MASK] 1", "[MASK] 2"]
    assert bars(blanks, "#groups") == FILLED * 2 and not bars(blanks, "#scores")


def test_a_text_without_a_mask_is_refused_in_the_models_words(blanks):
    blanks.type("the man")
    blanks.press("Enter")
    blanks.wait("!document.querySelector('#failure').hidden")
    assert "has no [MASK]" in blanks.text("#failure-message")
