"""The parameters of dynamic batching in the format of tensorflow_model_server."""

import os

import pytest

from tfattn.errors import ServingError
from tfattn.export.serving_config import BATCHING
from tfattn.serving.engine.batching_parameters import BatchingParameters, read


def test_the_file_of_an_export_is_read(tmp_path):
    path = tmp_path / "batching_parameters.txt"
    path.write_text(BATCHING)
    parameters = read(path)
    assert parameters.max_batch_size == 32
    assert parameters.max_queued_rows == 32 * parameters.max_queued_batches


def test_all_fields_of_tf_serving_and_its_defaults(tmp_path):
    path = tmp_path / "batching_parameters.txt"
    path.write_text("""
        max_batch_size { value: 8 }  batch_timeout_micros { value: 1500 }  max_enqueued_batches { value: 3 }
        num_batch_threads { value: 1 }  thread_pool_name { value: "pool" }
        allowed_batch_sizes: 4 allowed_batch_sizes: 8  pad_variable_length_inputs: true
        enable_large_batch_splitting { value: true }
    """)
    assert read(path) == BatchingParameters(max_batch_size=8, timeout=0.0015, max_queued_batches=3, num_threads=1)
    path.write_text("")
    assert read(path) == BatchingParameters(
        max_batch_size=1000, timeout=0, max_queued_batches=10, num_threads=os.cpu_count()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size { value: 0 }", "`max_batch_size` is out of range: expected at least 1, received 0"),
        ("max_batch_sise { value: 1 }", 'has no field named "max_batch_sise"'),
        ("max_batch_size { value: x }", "1:25"),
    ],
)
def test_an_invalid_file_is_reported_with_its_position(text, message, tmp_path):
    path = tmp_path / "parameters.txt"
    path.write_text(text)
    with pytest.raises(ServingError, match="parameters.txt") as error:
        read(path)
    assert message in str(error.value)
