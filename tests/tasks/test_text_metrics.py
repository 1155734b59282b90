"""Metrics of generated texts, compared with values by hand."""

import json
import math

import numpy as np
from sacrebleu.metrics import BLEU

from tfattn.tasks import text_metrics


def test_bleu_of_a_known_pair():
    """6 of 7 words, 4 of 6 pairs, 2 of 5 triples and 1 of 4 quadruples are right, and nothing is too short."""
    figures = text_metrics.translation(["the cat sat on a red mat"], ["the cat sat on the red mat"])
    precisions = (6 / 7, 4 / 6, 2 / 5, 1 / 4)
    assert math.isclose(figures["bleu"], 100 * math.prod(precisions) ** 0.25, rel_tol=1e-9)
    assert figures["exact_match"] == 0


def test_short_texts_have_a_brevity_penalty():
    figures = text_metrics.translation(["a b c d e"], ["a b c d e f g"])
    assert math.isclose(figures["bleu"], 100 * math.exp(1 - 7 / 5), rel_tol=1e-9)


def test_equal_texts_are_exact_matches():
    figures = text_metrics.translation(
        ["Ein Hund läuft .", "Zwei Katzen schlafen ."] * 2, ["Ein Hund läuft .", "Zwei Katzen schlafen ."] * 2
    )
    assert math.isclose(figures["bleu"], 100) and math.isclose(figures["chrf"], 100) and figures["exact_match"] == 1


def test_the_signature_names_the_settings():
    assert text_metrics.signature().startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_the_interval_of_bleu_is_that_of_sacrebleu(monkeypatch):
    """Theirs is half as wide each way as ours from end to end, around the mean of their draws."""
    draw = np.random.default_rng(0)
    references = [" ".join(draw.choice(list("abcdefghij"), 12)) for _ in range(80)]
    hypotheses = [" ".join(word for word in text.split() if draw.random() > 0.1) for text in references]
    low, high = text_metrics.bleu_interval(hypotheses, references, seed=3)
    monkeypatch.setenv("SACREBLEU_SEED", "3")
    theirs = json.loads(
        BLEU().corpus_score(hypotheses, [references], n_bootstrap=1000).format(is_json=True, signature="bs:1000")
    )
    assert math.isclose((high - low) / 2, theirs["confidence_var"], rel_tol=0.1)
    assert math.isclose((high + low) / 2, theirs["confidence_mean"], rel_tol=0.01)
    assert low < text_metrics.translation(hypotheses, references)["bleu"] < high
    assert text_metrics.bleu_interval(hypotheses, references, seed=3) == (low, high)


def test_the_interval_of_a_single_text_has_width_0():
    low, high = text_metrics.bleu_interval(["a b c d e"], ["a b c d f"], seed=0, resamples=5)
    assert low == high == text_metrics.translation(["a b c d e"], ["a b c d f"])["bleu"]
