"""The loss of a task and its terms."""

import pytest

from tfattn.training.losses import loss_metrics, mean_losses


def test_several_terms_have_separate_losses():
    assert loss_metrics(["a"]) == ("loss",)
    assert loss_metrics(["a", "b"]) == ("loss", "loss/a", "loss/b")
    assert mean_losses({"a": 6.0}, {"a": 4.0}) == {"loss": 1.5}


def test_each_term_is_divided_by_its_own_weight():
    found = mean_losses({"a": 6.0, "b": 3.0}, {"a": 4.0, "b": 30.0})
    assert found == pytest.approx({"loss": 1.6, "loss/a": 1.5, "loss/b": 0.1})


def test_a_term_with_zero_weight_adds_nothing():
    assert mean_losses({"a": 6.0, "b": 0.0}, {"a": 4.0, "b": 0.0}) == {"loss": 1.5, "loss/a": 1.5, "loss/b": 0.0}
