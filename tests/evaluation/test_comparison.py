"""The report of a comparison: means, differences, and diverged runs."""

import json

import pytest

from tfattn.evaluation.comparison import Outcome, write
from tfattn.runs.comparison import Comparison

COMPARISON = Comparison(
    name="parts",
    pipeline="x.yaml",
    variants={"after": {}, "before": {"model.norm": "pre"}, "none": {}},
    metric="accuracy",
)


def history(lines, loss):
    return [
        {"step": 10 * line, "loss": loss / line, "validation_loss": 2 * loss, "seconds": 2.0}
        | {"gradient_norm/block_0": 0.5, "gradient_norm/unused": 0.0}
        for line in range(1, lines + 1)
    ]


def outcomes(**values):
    return [
        Outcome(variant=name, seed=seed, metric="accuracy", value=value, history=history(3 if value else 0, loss=seed))
        for seed in (1, 2)
        for name, value in ((name, each[seed - 1]) for name, each in values.items())
    ]


@pytest.fixture
def page(tmp_path):
    def write_page(**values):
        write(COMPARISON, outcomes(**values), tmp_path)
        return (tmp_path / "report.html").read_text()

    return write_page


def test_variants_are_compared_with_the_first_by_seed(page, tmp_path):
    found = page(after=(0.5, 0.6), before=(0.7, 0.9), none=(0.5, 0.7))
    assert "0.8 is the highest mean accuracy, that of “before”; 0.55 the lowest, that of “after”." in found
    # Differences of 0.2 and 0.3: 0.25, give or take 12.7062 standard errors of 0.05.
    assert "+0.2500 (-0.3853 to +0.8853)" in found and "0.8 (0.7 to 0.9)" in found
    assert "model.norm=pre" in found
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        "loss.svg",
        "validation_loss.svg",
        "gradients.svg",
    }
    kept = json.loads((tmp_path / "comparison.json").read_text())
    assert [Outcome(**one) for one in kept] == outcomes(after=(0.5, 0.6), before=(0.7, 0.9), none=(0.5, 0.7))


def test_a_diverged_run_is_a_result_and_in_no_mean(page):
    found = page(after=(0.5, 0.6), before=(0.7, 0.9), none=(0.9, None))
    assert "“none” has diverged." in found
    assert "0.8 is the highest mean accuracy" in found


def test_all_variants_may_diverge(page):
    assert "All variants diverged." in page(after=(None, None), before=(None, None), none=(None, None))
