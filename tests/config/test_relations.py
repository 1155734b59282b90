"""Relations between keys: the check of a file and the building of an object raise the same errors."""

import pytest

from tfattn.config.build import build
from tfattn.config.constructors import constructor
from tfattn.config.read import Tree
from tfattn.config.relations import AtMost, Below, Divides, InsteadOf, NotWith, OnlyWith, violations
from tfattn.config.schema import Config, check
from tfattn.errors import ConfigError, ConfigProblems


@pytest.mark.parametrize(
    ("relation", "values", "message"),
    [
        (Divides("b"), {"a": 5, "b": 16}, "does not divide `b`: expected a divisor of b=16, received 5"),
        (Divides("b", unless="c"), {"a": 5, "b": 16, "c": None}, "expected a divisor of b=16, received 5"),
        (AtMost("b"), {"a": 5, "b": 4}, "above `b`: expected at most b=4, received 5"),
        (Below("b"), {"a": 3, "b": 3}, "not below `b`: expected below b=3, received 3"),
        (OnlyWith("b"), {"a": True, "b": 0}, "needs another `b`: expected b other than 0, received b 0"),
        (
            OnlyWith("b", values=(False, "x")),
            {"a": "text", "b": None},
            "needs another `b`: expected b false or x, received b null",
        ),
        (NotWith("b"), {"a": 1, "b": 1}, "is instead of `b`: expected either b or a, received both"),
        (InsteadOf("b"), {"a": 1, "b": 1}, "is instead of `b`: expected either b or a, received both"),
        (InsteadOf("b"), {"a": None, "b": None}, "is instead of `b`: expected either b or a, received neither"),
        (AtMost("b.c", inner="d", remedy="Do."), {"a": {"d": 2}, "b": {"c": 1}}, "at most b.c=1, received 2. Do."),
    ],
)
def test_violations_are_reported(relation, values, message):
    [problem] = violations({"a": [relation]}, values)
    assert str(problem).endswith(message)
    assert problem.key == ("a.d" if relation.inner else "a")


@pytest.mark.parametrize(
    ("relation", "values"),
    [
        (Divides("b"), {"a": 4, "b": 16}),
        (AtMost("b"), {"a": 4, "b": 4}),
        (AtMost("b"), {"a": None, "b": 4}),
        (AtMost("b"), {"a": 4, "b": None}),
        (Below("b"), {"a": 2, "b": 3}),
        (Below("b"), {"a": 2, "b": None}),
        (OnlyWith("b"), {"a": True, "b": 1}),
        (OnlyWith("b"), {"a": False, "b": None}),
        (OnlyWith("b", values=(False,)), {"a": "text", "b": False}),
        (NotWith("b"), {"a": None, "b": None}),
        (NotWith("b"), {"a": 1, "b": 0.0}),
        (InsteadOf("b"), {"a": None, "b": 1}),
        (Divides("b", unless="c"), {"a": 5, "b": 16, "c": 3}),
        (Divides("b"), {"a": 5}),  # a missing key is not checked
        (AtMost("b.c.d"), {"a": 5, "b": {"c": None}}),
    ],
)
def test_valid_values_pass(relation, values):
    assert not list(violations({"a": [relation]}, values))


HEADS = {"num_layers": 1, "hidden_dim": 16, "intermediate_dim": 8, "num_heads": 5}
DIVISOR = "expected a divisor of hidden_dim=16, received 5"


@pytest.mark.parametrize(
    ("kind", "name", "values", "message"),
    [
        ("models", "bert", HEADS, DIVISOR),
        ("models", "transformer", HEADS, DIVISOR),
        ("models", "feature_tokenizer_transformer", HEADS, DIVISOR),
        ("preprocessors", "sentencepiece", {"joint": True, "target_vocabulary": "a.model"}, "expected joint false"),
        ("preprocessors", "sentencepiece", {"joint": True, "target_vocabulary_size": 9}, "expected joint false"),
        ("preprocessors", "sentencepiece", {"max_length": 9, "target_max_length": 10}, "expected at most max_length=9"),
        ("optimizers", "sgd", {"momentum": 0.0, "nesterov": True}, "expected momentum other than 0.0"),
        (
            "sections",
            "batching",
            {"batch_size": None, "max_tokens": None},
            "batch_size or max_tokens, received neither",
        ),
        ("sections", "batching", {"batch_size": 1, "max_tokens": 2}, "batch_size or max_tokens, received both"),
        ("sections", "batching", {"batch_size": None, "balanced": True}, "expected batch_size other than null"),
        ("sections", "batching", {"balanced": False, "batches_per_epoch": 3}, "expected balanced other than false"),
        ("sections", "split", {"folds": 3, "fold": 3}, "expected below folds=3, received 3"),
        ("sections", "split", {"folds": None, "fold": 1}, "expected folds other than null"),
        ("sections", "split", {"hold_out": {"panel": ["A"]}, "test": 0.1}, "either test or hold_out, received both"),
        ("sections", "runtime", {"strategy": "one_device", "logical_devices": 2}, "expected strategy auto or mirrored"),
        ("sections", "runtime", {"strategy": "multi_worker", "logical_devices": "cores"}, "auto or mirrored, received"),
    ],
)
def test_relations_of_catalog_entries(kind, name, values, message):
    [problem] = violations(constructor(kind, name).relations, values)
    assert message in str(problem)


@pytest.mark.parametrize(
    ("section", "values"),
    [("batching", {}), ("batching", {"batch_size": 3, "max_tokens": 9}), ("split", {"folds": 2, "fold": 2})],
)
def test_check_and_build_raise_the_same_error(section, values):
    with pytest.raises(ConfigProblems) as checked:
        check(Tree(dict(values)), section)
    defaults = {key: argument.default for key, argument in constructor("sections", section).arguments.items()}
    with pytest.raises(ConfigError) as built:
        build(Config(defaults | values, {(): "x.yaml:1:1"}, section))
    [problem] = checked.value.problems
    assert (problem.key, problem.what, problem.expected, problem.received, problem.remedy) == (
        built.value.key, built.value.what, built.value.expected, built.value.received, built.value.remedy,
    )  # fmt: skip
    assert built.value.where == f"x.yaml:1:1: {problem.key}"
