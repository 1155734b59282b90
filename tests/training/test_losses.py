"""The loss of a task, of its terms."""

import pytest

from tfattn.training.losses import loss_metrics, mean_losses


def test_one_term_is_the_loss_and_of_several_each_is_told():
    assert loss_metrics(["a"]) == ("loss",)
    assert loss_metrics(["a", "b"]) == ("loss", "loss/a", "loss/b")
    assert mean_losses({"a": 6.0}, {"a": 4.0}) == {"loss": 1.5}


def test_each_term_is_divided_by_its_own_weight():
    found = mean_losses({"a": 6.0, "b": 3.0}, {"a": 4.0, "b": 30.0})
    assert found == pytest.approx({"loss": 1.6, "loss/a": 1.5, "loss/b": 0.1})


def test_a_term_that_no_element_counts_in_adds_nothing():
    assert mean_losses({"a": 6.0, "b": 0.0}, {"a": 4.0, "b": 0.0}) == {"loss": 1.5, "loss/a": 1.5, "loss/b": 0.0}
