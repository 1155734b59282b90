"""The report of a translator: BLEU with an interval, compared with copying, without leaked rows."""

from types import SimpleNamespace

import numpy as np
import pytest

from tfattn.evaluation import translation
from tfattn.tasks import text_metrics

WORDS = ["rot", "grün", "blau", "gold", "grau", "weiß", "rosa", "lila", "braun", "红色"]
DRAW = np.random.default_rng(0)
PAIRS = [(" ".join(words), " ".join(words[::-1])) for words in (DRAW.choice(WORDS, 6) for _ in range(40))]
PAIRS[0] = "<b>gold</b> und rot", "rot und <b>gold</b>"


class Writer:
    """A task that has written these texts; its metrics are the true ones."""

    def __init__(self, texts):
        self.written = texts

    def texts(self, token_ids):
        return self.written

    def metrics_of(self, answers, targets):
        references = [target for _, target in PAIRS]
        return {**text_metrics.translation(self.written, references), "perplexity": 2.0, "word_perplexity": 3.0}

    def aligned(self, sources):
        return [(np.full((2, 3), 1 / 3), ["_红", "$a$", "</s>"], ["_b", "</s>"]) for _ in sources]


@pytest.fixture
def reported(tmp_path, write, predictions):
    """The metrics of these texts, the page on them, and the folder of the run."""

    def reported(texts, leaked=()):
        rows = [
            {"row": f"p.tsv:{number + 2}", "source": source, "target": target}
            for number, (source, target) in enumerate(PAIRS)
        ]
        read = SimpleNamespace(fields=["source"], target_fields=["target"])
        values = {"token_ids": np.zeros((40, 1)), "scores": np.zeros(40)}
        ensemble = SimpleNamespace(task=Writer(texts), preprocessor=read)
        findings = translation.report(ensemble, predictions(rows, values, {}, leaked=leaked))
        folder = write(tmp_path, findings)
        return findings.metrics, (folder / "report.html").read_text(encoding="utf-8"), folder

    return reported


def test_a_good_translator_has_an_interval_and_no_warnings(reported):
    texts = [target if number % 4 else target[::-1] for number, (_, target) in enumerate(PAIRS)]
    metrics, page, folder = reported(texts)
    assert metrics["baseline_bleu"] < metrics["bleu_low"] < metrics["bleu"] < metrics["bleu_high"]
    assert f"interval of BLEU is {metrics['bleu_low']:.1f} to {metrics['bleu_high']:.1f} (" in page
    assert 'class="warnings"' not in page and metrics["leaked_rows"] == 0
    assert "&lt;b&gt;gold" in page and "<b>gold" not in page
    assert "_红<" in (folder / "plots/attention_1.svg").read_text(encoding="utf-8")


def test_copying_and_leaked_rows_have_warnings(reported):
    texts = [target if number < 4 else source for number, (source, target) in enumerate(PAIRS)]
    metrics, page, _ = reported(texts, leaked=[f"p.tsv:{number + 2}" for number in range(4)])
    assert "4 of the 40 test pairs (10.0%) are also training rows" in page
    assert metrics["bleu_without_leaked"] < metrics["bleu"]
    assert f"Without them: BLEU {metrics['bleu_without_leaked']:.1f} (" in page
    assert "than copying the source" in page


def test_the_interval_is_reproducible(reported):
    texts = [source for source, _ in PAIRS]
    one, other = reported(texts)[0], reported(texts)[0]
    assert (one["bleu_low"], one["bleu_high"]) == (other["bleu_low"], other["bleu_high"])
