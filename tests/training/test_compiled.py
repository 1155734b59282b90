"""Functions of models as graphs."""

import logging

import tensorflow as tf

from tfattn.training.compiled import compiled


def test_functions_of_many_models_do_not_warn(caplog):
    logger = logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    for weight in range(8):
        assert compiled(lambda x, weight=weight: x + weight)(tf.constant(1)) == 1 + weight
    logger.removeHandler(caplog.handler)
    assert not caplog.records


def test_a_function_is_traced_once_for_each_kind_of_input():
    traced = []
    function = compiled(lambda x: traced.append(1) or tf.reduce_sum(x))
    for size in range(1, 9):
        assert function(tf.ones(size)) == size
    assert len(traced) == 2  # one length, then any
