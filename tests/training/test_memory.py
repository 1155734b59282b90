"""Memory checks from the shapes of weights, before allocation."""

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ConfigError, TrainingError
from tfattn.models.bert import Bert
from tfattn.tasks.classification import Classification
from tfattn.training.memory import available, build_without_values, check_memory, report_out_of_memory

SIZES = {"vocabulary_size": 50, "hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 32}
TARGETS = {"labels": None, "counts": [1, 1, 1]}


def classifier(**sizes):
    return Classification(model=Bert(**{**SIZES, **sizes}), targets=TARGETS)


def shapes(task):
    return [(weight.path, tuple(weight.shape)) for weight in task.weights]


def test_building_without_values_gives_the_same_weights():
    task = build_without_values(classifier)
    assert shapes(task) == shapes(classifier())
    keras.layers.Dense(2).compute_output_spec(keras.KerasTensor((1, 3)))  # gives values to variables that wait for one
    assert all(weight._value is None for weight in task.weights)


def test_building_without_values_does_not_change_later_weights():
    random.seed(3)
    alone = np.array(classifier().head.kernel)
    random.seed(3)
    build_without_values(classifier)
    np.testing.assert_array_equal(np.array(classifier().head.kernel), alone)


def test_models_that_need_values_get_them():
    class Starting(keras.Model):
        def __init__(self):
            super().__init__()
            self.start = keras.Variable(np.ones(3, "float32"))

    assert np.array(build_without_values(Starting).start).tolist() == [1, 1, 1]


def test_building_without_values_raises_the_errors_of_a_model():
    with pytest.raises(ValueError, match="a divisor of the width 8, received 3"):
        build_without_values(lambda: classifier(num_heads=3))


@pytest.mark.parametrize(
    ("sizes", "key", "largest"),
    [
        ({"hidden_dim": 600_000}, "model.hidden_dim", r"attention/qkv/kernel \(600000, 1800000\)"),
        ({"vocabulary_size": 10**12}, "data.vocabulary_size", r"token/embeddings \(1000000000000, 8\)"),
        ({"intermediate_dim": 10**12}, "model.intermediate_dim", r"intermediate/kernel \(8, 1000000000000\)"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_the_key_to_lower(sizes, key, largest):
    (size,) = sizes.values()
    task = build_without_values(lambda: classifier(**sizes))
    parameters = f"{sum(np.prod(shape, dtype=object) for _, shape in shapes(task)):,}"
    with pytest.raises(ConfigError, match=largest) as caught:
        check_memory(task, copies=4, sizes={key: size, "model.num_heads": 2})
    assert caught.value.key == key
    assert str(caught.value).endswith(f"Lower `{key}`.")
    assert parameters in str(caught.value)


def test_copies_are_counted_only_for_trained_weights():
    room = available() // 4  # in numbers: the tables of words below take half of it

    def encoder():
        return Bert(**{**SIZES, "hidden_dim": 8, "vocabulary_size": room // 16})

    fine_tuned = build_without_values(lambda: Classification(model=encoder(), targets=TARGETS))
    check_memory(fine_tuned, copies=1, sizes={})
    with pytest.raises(ConfigError, match="too large for this machine"):
        check_memory(fine_tuned, copies=4, sizes={})
    check_memory(
        build_without_values(lambda: Classification(model=encoder(), targets=TARGETS, encoder="frozen")),
        copies=4,
        sizes={},
    )


@pytest.mark.parametrize(
    ("group", "limits", "expected"),
    [
        ("0::/job/run", {"sys/fs/cgroup/job/memory.max": "2000", "sys/fs/cgroup/job/run/memory.max": "max"}, 2000),
        ("0::/job/run", {"sys/fs/cgroup/job/memory.max": "2000", "sys/fs/cgroup/job/run/memory.max": "1000"}, 1000),
        ("0::/", {"sys/fs/cgroup/memory.max": "3000"}, 3000),
        ("5:memory:/docker/1a", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "4000"}, 4000),
        ("5:memory:/", {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096)}, None),
        ("4:cpu:/", {"sys/fs/cgroup/memory.max": "3000"}, None),
    ],
)
def test_available_memory_respects_control_groups(tmp_path, group, limits, expected):
    for name, text in {"proc/self/cgroup": group, **limits}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    machine = available(tmp_path / "elsewhere")
    assert machine > 2**20
    assert available(tmp_path) == (expected or machine)


def test_out_of_memory_errors_are_converted_but_not_full_disks():
    def refused(message):
        return tf.errors.ResourceExhaustedError(None, None, message)

    with pytest.raises(TrainingError) as caught, report_out_of_memory():
        raise refused(
            "{{function_node step_11}} OOM when allocating tensor with shape[9,9] on CPU:0\n\t [[{{node x}}]]"
        )
    assert "there is not enough memory: received OOM when allocating tensor with shape[9,9] on CPU:0." in str(
        caught.value
    )
    with pytest.raises(tf.errors.ResourceExhaustedError), report_out_of_memory():
        raise refused("No space left on device")
