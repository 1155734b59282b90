"""The page for a model of images: one is chosen or dropped, is seen, and is sent as the bytes of its file."""

import base64
import json
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.page.served import SHADES, WHITE

COPY = 1


@pytest.fixture
def black(tmp_path):
    """A file whose name needs quoting in a shell."""
    path = tmp_path / "it's black.jpg"
    path.write_bytes(tf.io.encode_jpeg(np.zeros((40, 20, 3), np.uint8)).numpy())
    return path


def asked(page) -> bytes:
    """Submit the form and return the bytes sent to the server."""
    page.click("#send")
    page.wait("document.body.ariaBusy === 'false' && !document.querySelector('#answer').hidden")
    [instance] = json.loads(page.told("Network.requestWillBeSent")[-1]["request"]["postData"])["instances"]
    return base64.b64decode(instance["b64"], validate=True)


def drop(page, path) -> None:
    """Drop a file on the field."""
    page.run("document.querySelector('.drop').scrollIntoView({block: 'center'})")
    script = (
        "(() => { const b = document.querySelector('.drop').getBoundingClientRect(); return [b.x + 9, b.y + 9]; })()"
    )
    x, y = page.run(script)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": COPY}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)


def choose(page, path) -> None:
    """Select a file, like in the browser's dialog."""
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="#input-0")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])


def shade(page, selector: str) -> list[int]:
    """Return the color at the center of a canvas."""
    script = f"""(() => {{
        const one = document.querySelector({json.dumps(selector)});
        return [...one.getContext("2d").getImageData(one.width / 2, one.height / 2, 1, 1).data];
    }})()"""
    return page.run(script)


def test_an_image_is_dropped_seen_and_answered(images, black):
    drop(images, black)
    images.wait("!document.querySelector('.drop canvas').hidden")
    assert shade(images, ".drop canvas") == [0, 0, 0, 255]
    assert "it's black.jpg" in images.text(".drop")
    assert asked(images) == black.read_bytes()
    assert images.text("#label") == "dark"
    bars = [tuple(line.split("\n")) for line in images.texts("#scores li")]
    assert bars == [("dark", "1.000"), (SHADES[1], "0.000")]

    assert shade(images, "#marks canvas") == [0, 0, 0, 255], "the picture stands beside the bars"
    assert images.run("[...document.querySelectorAll('#marks canvas')].map((one) => [one.width, one.height])") == [
        [128, 256]
    ]


def test_an_image_is_chosen_and_an_example_filled_in(images, black):
    choose(images, black)
    images.wait("!document.querySelector('.drop canvas').hidden")
    assert asked(images) == black.read_bytes()
    images.click("#example")
    images.wait("document.querySelector('.drop').innerText.includes('example')")
    assert asked(images) == WHITE
    assert images.text("#label") == SHADES[1]
    assert shade(images, "#marks canvas") == [255, 255, 255, 255]


def test_the_command_reads_the_file(images, black):
    drop(images, black)
    images.wait("!document.querySelector('.drop canvas').hidden")
    asked(images)
    command = images.text("#curl")
    assert len(command) < 300, "an image is not written out"
    written, _, sent = command.partition(" | curl ")
    assert sent.startswith("-d @- http://127.0.0.1:")
    told = subprocess.run(["bash", "-c", written], cwd=black.parent, capture_output=True, text=True, check=True).stdout
    assert base64.b64decode(json.loads(told)["instances"][0]["b64"]) == black.read_bytes()


def test_no_image_is_not_sent_and_what_is_none_is_said(images, tmp_path):
    images.click("#send")
    images.wait("!document.querySelector('#notice').hidden")
    assert images.text("#notice") == "The image is empty: there is nothing to answer."
    (tmp_path / "text.png").write_text("no image")
    drop(images, tmp_path / "text.png")
    images.wait("document.querySelector('.drop').innerText.includes('cannot show it')")
    images.click("#send")
    images.wait("!document.querySelector('#failure').hidden")
    assert "400" in images.text("#failure-title")


def test_a_file_that_is_too_large_is_not_sent(images, tmp_path):
    (tmp_path / "large.png").write_bytes(b"x" * 100_001)
    drop(images, tmp_path / "large.png")
    images.wait("document.querySelector('#input-0').files.length")
    images.click("#send")
    images.wait("!document.querySelector('#failure').hidden")
    assert images.text("#failure-message") == "large.png has more than 100000 bytes."
