"""The page for word vectors: a bar for each of the words nearest to a word."""

from tests.serving.page.served import WORDS


def ask(page, word: str) -> None:
    page.type(word)
    page.press("Enter")
    page.wait("document.body.ariaBusy === 'false'")


def test_the_nearest_words_have_bars(vectors):
    ask(vectors, "king")
    assert vectors.text("#label") == WORDS[0]
    assert vectors.texts("#scores .name") == WORDS
    assert vectors.texts("#scores .number") == ["0.750", "0.500", "-0.250"]
    assert vectors.run("document.querySelector('#outputs').hidden"), "all that was answered is shown"
    assert '"signature_name": "neighbors", "inputs": {"word": ["king"], "k": 10}' in vectors.text("#curl")


def test_a_word_is_a_short_field_and_an_unknown_one_is_refused_in_the_models_words(vectors):
    assert vectors.run("document.querySelector('#input-0').tagName") == "INPUT"
    ask(vectors, "x")
    vectors.wait("!document.querySelector('#failure').hidden")
    assert vectors.text("#failure-message") == "there is no vector of the word `x` in row 1"
