"""Distillation: the losses of the papers, computed in NumPy from the outputs of both models."""

import numpy as np
import pytest
from keras import ops

from tests.contracts.task import check_task
from tfattn.features import TEACHER_LOGITS
from tfattn.models.bert import Bert
from tfattn.ops.attention_record import ENCODER, AttentionRecord
from tfattn.tasks.classification import Classification
from tfattn.tasks.distillation import Distillation, matched_layers, soft_label_losses
from tfattn.tasks.masked_lm import MaskedLm
from tfattn.tasks.task import TRAINING_ONLY
from tfattn.tasks.token_classification import TokenClassification

LENGTHS = np.array([5, 3, 5, 4])
ALL = {"soft_labels": 0.4, "temperature": 3.0, "hidden_states": 0.5, "attention": 2.0}


def encoder(hidden_dim, num_layers, seed, **options):
    sizes = {"num_heads": 2, "intermediate_dim": 16, "dropout": 0.0, **options}
    model = Bert(vocabulary_size=20, hidden_dim=hidden_dim, num_layers=num_layers, **sizes)
    draw = np.random.default_rng(seed)
    model.set_weights([draw.normal(scale=0.4, size=weight.shape) for weight in model.weights])
    return model


def classifier(model):
    return Classification(model=model, targets={"labels": ["a", "b", "c"], "counts": [1, 1, 1]}, dropout=0.0)


def make(student=classifier, teacher_dim=12, **options):
    teacher = student(encoder(teacher_dim, 4, 1))
    return Distillation(student=student(encoder(8, 2, 0)), teacher=teacher, **(options or ALL))


@pytest.fixture(scope="module")
def batch():
    draw = np.random.default_rng(3)
    mask = np.arange(5) < LENGTHS[:, None]
    return {
        "token_ids": draw.integers(1, 20, (4, 5)).astype("int32") * mask,
        "segment_ids": np.zeros((4, 5), "int32"),
        "padding_mask": mask,
        "label_ids": np.array([0, 1, 2, 1], "int32"),
        "weights": np.ones(4, "float32"),
    }


def numpy(value):
    return ops.convert_to_numpy(value).astype("float64")


def softmax(x):
    return np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)


def divergence(p, q):
    return (p * np.log(np.maximum(p, 1e-9) / np.maximum(q, 1e-9))).sum(-1)


def read(task, batch):
    """Return logits, hidden states, and weights and values of the last layer."""
    record = AttentionRecord()
    outputs = task(batch, record=record)
    states = [numpy(state) for state in outputs["hidden_states"]]
    return numpy(outputs["logits"]), states, *map(numpy, record.last(ENCODER))


def test_the_contract_of_tasks(batch, tmp_path):
    check_task(make, batch, folder=tmp_path)


def test_terms_are_those_of_the_papers(batch):
    task = make()
    for part in (task.student, task._teacher()):  # predictions that differ by more than rounding
        part.head.set_weights([20 * weight for weight in part.head.get_weights()])
    terms = {name: numpy(term) for name, term in task.loss_terms(task(batch), batch).items()}
    student, teacher = read(task.student, batch), read(task._teacher(), batch)
    own = numpy(task.student.loss_terms(task.student(batch), batch)["cross_entropy"])
    np.testing.assert_allclose(terms["cross_entropy"], 0.6 * own, rtol=1e-4)
    soft = 9.0 * divergence(softmax(teacher[0] / 3), softmax(student[0] / 3))
    np.testing.assert_allclose(terms["soft_labels"], 0.4 * soft, rtol=1e-3)
    kernel, bias = map(numpy, task.projection.weights)
    pairs = [(0, 0), (1, 2), (2, 4)]
    squares = [((student[1][ours] @ kernel + bias - teacher[1][theirs]) ** 2).mean(-1) for ours, theirs in pairs]
    np.testing.assert_allclose(terms["hidden_states"], 0.5 * np.mean(squares, axis=0), rtol=1e-3)
    visible = np.where(batch["padding_mask"], 0, -1e9)[:, None, None]
    relations = [
        softmax(values @ values.swapaxes(-1, -2) / np.sqrt(values.shape[-1]) + visible)
        for values in (teacher[3], student[3])
    ]
    expected = divergence(teacher[2], student[2]).mean(1) + divergence(*relations).mean(1)
    mask = batch["padding_mask"]
    np.testing.assert_allclose(terms["attention_relations"][mask], 2.0 * expected[mask], rtol=1e-3, atol=1e-5)
    weights = task.loss_weights(batch)
    np.testing.assert_array_equal(numpy(weights["hidden_states"]), mask.astype("float64"))
    np.testing.assert_array_equal(numpy(weights["soft_labels"]), batch["weights"])


def test_a_student_that_equals_its_teacher_has_no_losses_but_its_own(batch):
    model = encoder(8, 2, 0)
    twins = [classifier(model), classifier(model)]
    twins[1].head.set_weights(twins[0].head.get_weights())
    task = Distillation(student=twins[0], teacher=twins[1], **ALL)
    assert task.projection is None
    terms = task.loss_terms(task(batch), batch)
    for name in ("soft_labels", "hidden_states", "attention_relations"):
        np.testing.assert_allclose(terms[name], 0.0, atol=1e-6)


def test_computed_once_or_in_each_step_is_the_same(batch):
    in_step = make(soft_labels=0.7)
    cached = Distillation(student=in_step.student, teacher=in_step._teacher(), soft_labels=0.7, caches_logits=True)
    assert (in_step.precomputed, cached.precomputed) == ((), (TEACHER_LOGITS,))
    with_logits = {**batch, **cached.precompute(batch)}
    expected = in_step.loss_terms(in_step(batch), batch)
    found = cached.loss_terms(cached(with_logits), with_logits)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


def test_the_teacher_is_not_trained_or_saved():
    task = make()
    own = {weight.path for weight in task.weights}
    theirs = {id(weight) for weight in task._teacher().weights}
    assert not theirs & {id(weight) for weight in task.weights}
    projection = {f"{TRAINING_ONLY}projection/{name}" for name in ("kernel", "bias")}
    assert own == {weight.path for weight in task.student.weights} | projection


@pytest.mark.parametrize("kind", ["words", "masked tokens"])
def test_tasks_of_tokens_learn_from_a_teacher(batch, kind):
    if kind == "words":
        batch = {**batch, "label_ids": np.where(batch["padding_mask"], 1, -1).astype("int32")}
        batch["is_tagged"] = batch["padding_mask"].astype("int32")
        task = make(lambda model: TokenClassification(model=model, targets={"labels": ["A"], "counts": [1]}), **ALL)
    else:
        positions = np.array([[1, 2]] * 4, "int32")
        batch = {**batch, "masked_lm_positions": positions, "masked_lm_ids": positions}
        batch["masked_lm_weights"] = np.ones((4, 2), "float32")
        task = make(lambda model: MaskedLm(model=model), **ALL)
    terms, weights = task.loss_terms(task(batch), batch), task.loss_weights(batch)
    first = task.student.loss_names[0]
    np.testing.assert_array_equal(weights["soft_labels"], weights[first])
    for name, term in terms.items():
        assert term.shape == weights[name].shape and np.isfinite(term).all()


def test_soft_labels_at_a_high_temperature_are_half_of_the_squared_difference_of_centered_logits():
    draw = np.random.default_rng(0)
    teacher, student = draw.normal(size=(2, 6, 4))
    centered = (teacher - teacher.mean(-1, keepdims=True)) - (student - student.mean(-1, keepdims=True))
    found = soft_label_losses(teacher, student, temperature=300.0)  # Hinton et al. 2015, eq. 4
    np.testing.assert_allclose(found, (centered**2).mean(-1) / 2, rtol=0.05, atol=0.02)


def test_layers_are_matched_evenly():
    assert matched_layers(3, 12) == [0, 4, 8, 12]
    assert matched_layers(2, 2) == [0, 1, 2]
