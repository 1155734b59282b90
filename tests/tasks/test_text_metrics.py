"""Figures of written texts, held against numbers made by hand."""

import math

from tfattn.tasks import text_metrics


def test_bleu_of_a_known_pair():
    """6 of 7 words, 4 of 6 pairs, 2 of 5 triples and 1 of 4 quadruples are right, and nothing is too short."""
    figures = text_metrics.translation(["the cat sat on a red mat"], ["the cat sat on the red mat"])
    precisions = (6 / 7, 4 / 6, 2 / 5, 1 / 4)
    assert math.isclose(figures["bleu"], 100 * math.prod(precisions) ** 0.25, rel_tol=1e-9)
    assert figures["exact_match"] == 0


def test_what_is_too_short_is_charged_for_it():
    figures = text_metrics.translation(["a b c d e"], ["a b c d e f g"])
    assert math.isclose(figures["bleu"], 100 * math.exp(1 - 7 / 5), rel_tol=1e-9)


def test_equal_texts_are_right():
    figures = text_metrics.translation(
        ["Ein Hund läuft .", "Zwei Katzen schlafen ."] * 2, ["Ein Hund läuft .", "Zwei Katzen schlafen ."] * 2
    )
    assert math.isclose(figures["bleu"], 100) and math.isclose(figures["chrf"], 100) and figures["exact_match"] == 1


def test_the_signature_says_how_it_was_computed():
    assert text_metrics.signature().startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
