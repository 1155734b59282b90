"""The attention page at 512 tokens, 12 layers and 12 heads: size, load time and response time.

Measured in headless Chromium. bertviz renders the same weights if it is installed; its page loads scripts from the
network, so only the size of its file is measured.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import last_line
from benchmarks.results import Table
from tests.serving.page import browser
from tfattn.attention.views import Views, of_outputs

TOKENS, LAYERS, HEADS = 512, 12, 12
OPENINGS, TOUCHED = 5, 40
# The page reports when its first view is drawn, from the start of loading.
SEEN = """
new MutationObserver((_, observer) => {
  if (!document.querySelector(".tokens li")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => (window.seen = performance.now())));
}).observe(document, {childList: true, subtree: true});
"""
# Milliseconds from the hover over a token to the frame with its lines.
HOVER = """(async () => {
  const lines = [...document.querySelectorAll(".tokens.SIDE li")].filter((_, index) => index % STEP === 0);
  const taken = [];
  for (const line of lines) {
    await new Promise(requestAnimationFrame);
    const begin = performance.now();
    line.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    taken.push(performance.now() - begin);
  }
  return taken;
})()"""
BERTVIZ = """
import sys, time, torch, numpy as np
from bertviz import head_view
weights = torch.tensor(np.load(sys.argv[1]))
begin = time.perf_counter()
page = head_view([layer[None] for layer in weights], [f"t{n}" for n in range(weights.shape[-1])], html_action="return")
print(len(page.data), time.perf_counter() - begin)
"""


def main() -> list[Table]:
    """Write the page of random weights, which compress worst, and measure it."""
    program = browser.find()
    if program is None:
        sys.exit("needs Chromium: apt-get install chromium")
    views = random_views()
    with tempfile.TemporaryDirectory() as folder, browser.browser(program) as chromium:
        begin = time.perf_counter()
        text = views.html()
        written = time.perf_counter() - begin
        path = Path(folder) / "attention.html"
        path.write_text(text, encoding="utf-8")
        opened, touched = measure(chromium, path)
        np.save(Path(folder) / "weights.npy", views.parts[0].weights)
        peer = bertviz_row(Path(folder) / "weights.npy")
    row = ["tfattn", f"{len(text) / 2**20:.1f} MiB", f"{written:.1f} s", f"{np.median(opened):.2f} s"]
    row += [f"{np.median(some):.0f} / {np.max(some):.0f} ms" for some in touched]
    title = f"{TOKENS} tokens, {LAYERS} layers, {HEADS} heads"
    columns = ["", "file", "time to write", "time to first view", "query, median / maximum", "key, median / maximum"]
    notes = [f"Seen: median of {OPENINGS} openings. A query or key: until the frame that shows its lines."]
    return [Table(title=title, columns=columns, rows=[row, *peer], notes=notes)]


def random_views() -> Views:
    """Return views of weights with independent random scores."""
    draw = np.random.default_rng(0)
    scores = 2.0 * draw.standard_normal((LAYERS, HEADS, TOKENS, TOKENS), np.float32)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    names = [f"token{number}" for number in range(TOKENS)]
    numbers, none = np.arange(TOKENS), np.zeros(TOKENS, int)
    known = {"tokens": names, "word_texts": names, "words": numbers, "segments": none, "is_special": none > 0}
    return of_outputs("random weights", {**known, "encoder_weights": weights})


def measure(chromium: browser.Browser, path: Path) -> tuple[list[float], list[list[float]]]:
    """Load the page several times and hover over tokens of both sides; return seconds, and milliseconds per side."""
    opened = []
    for _ in range(OPENINGS):
        page = chromium.page("data:text/html,")
        page.call("Page.addScriptToEvaluateOnNewDocument", source=SEEN)
        page.call("Page.navigate", url=path.as_uri())
        page.wait("window.seen")
        opened.append(page.run("window.seen") / 1000)
    step = str(TOKENS // TOUCHED)
    touched = [page.run(HOVER.replace("SIDE", side).replace("STEP", step)) for side in ("rows", "columns")]
    return opened, touched


def bertviz_row(weights: Path) -> list[list[str]]:
    """Return the row of bertviz with the same weights; none if it is not installed."""
    try:
        size, seconds = map(float, last_line(BERTVIZ, weights).split())
    except SystemExit as error:
        print(f"bertviz is not compared: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
        return []
    return [["bertviz", f"{size / 2**20:.0f} MiB", f"{seconds:.1f} s", "loads from the net", "", ""]]
