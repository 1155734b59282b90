"""The page for a model that writes texts: a chat that is written while one watches."""

import json

import pytest

from tests.serving import authors


@pytest.fixture
def page(chromium, server):
    page = chromium.page(f"{server.rest}/")
    page.wait("document.body.ariaBusy === 'false' && document.activeElement.id === 'input-0'")
    return page


def asked(page) -> dict:
    return json.loads(page.told("Network.requestWillBeSent")[-1]["request"]["postData"])


def asked_of(page, path: str) -> list[dict]:
    requests = [one["request"] for one in page.told("Network.requestWillBeSent")]
    return [json.loads(one["postData"]) for one in requests if one["url"].endswith(path)]


def say(page, text: str) -> None:
    page.run("document.querySelector('#input-0').focus()")
    page.type(text)
    page.press("Enter")


def is_done(number: int) -> str:
    return f"document.body.ariaBusy === 'false' && document.querySelectorAll('#messages li').length === {number}"


def test_messages_and_answers_are_shown_and_sent_with_the_next(page):
    page.run("document.querySelector('#options').open = true")
    for name, value in (("temperature", "0.5"), ("max_tokens", "20"), ("seed", "5")):
        page.run(f"document.querySelector('#setting-{name}').value = '{value}'")
    say(page, "<b>To be?</b>")
    page.wait(is_done(2))
    question, answer = page.run("[...document.querySelectorAll('#messages p')].map((one) => one.textContent)")
    assert question == "<b>To be?</b>" and answer
    request = asked(page)
    assert request["model"] == authors.NAME and request["stream"]
    assert {name: request[name] for name in ("temperature", "max_tokens", "seed")} == {
        "temperature": 0.5,
        "max_tokens": 20,
        "seed": 5,
    }
    say(page, "And then?")
    page.wait(is_done(4))
    assert asked(page)["messages"] == [
        {"role": "user", "content": "<b>To be?</b>"},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": "And then?"},
    ]
    assert page.text("#curl").startswith("curl -d '") and page.text("#curl").endswith("/v1/chat/completions")
    page.click("#anew")
    page.wait(is_done(0))


def test_what_the_model_looked_at_is_shown_of_the_whole_chat(page):
    assert page.run("document.querySelector('#looked').hidden")
    page.run("document.querySelector('#setting-max_tokens').value = '8'")
    say(page, "To be?")
    page.wait(is_done(2))
    answer = page.run("document.querySelector('#messages .assistant p').textContent")
    page.click("#looked summary")
    page.wait("document.querySelector('#looked-views .tokens li')")
    page.run("document.querySelector('#view-special').checked || document.querySelector('#view-special').click()")
    shown = page.texts("#looked-views .tokens.rows li")
    assert [shown.count(mark) for mark in authors.CHAT] == [2, 1]
    request = next(one for one in asked_of(page, ":predict") if one["signature_name"] == "attention")
    user, assistant = f"{authors.CHAT[0]}user\nTo be?{authors.CHAT[1]}\n", f"{authors.CHAT[0]}assistant\n{answer}"
    assert request["instances"] == [{"text": user + assistant}]
    page.click("#anew")
    page.wait("document.querySelector('#looked').hidden")


def test_a_text_that_is_stopped_stays_as_far_as_it_came(page, server):
    page.run("document.querySelector('#setting-temperature').value = '0'")
    say(page, "To be?")
    page.wait("!document.querySelector('#stop').hidden && document.querySelector('#messages .assistant p').textContent")
    page.click("#stop")
    page.wait("document.querySelector('#stop').hidden && document.body.ariaBusy === 'false'")
    text = page.run("document.querySelector('#messages .assistant p').textContent")
    say(page, "Go on")
    page.wait("document.querySelectorAll('#messages li').length === 4")
    assert asked(page)["messages"][1] == {"role": "assistant", "content": text}
    page.click("#stop")


def test_what_is_refused_is_said_and_can_be_sent_again(page):
    page.run("document.querySelector('#setting-temperature').value = '-1'")
    say(page, "To be?")
    page.wait("!document.querySelector('#failure').hidden")
    assert page.text("#failure-title") == "The server answered 400"
    assert "temperature" in page.text("#failure-message")
    assert page.run("document.querySelector('#input-0').value") == "To be?"
    assert page.run("document.querySelector('#messages').hidden")
