"""Configuration files of a TensorFlow model server for a folder of models: models.config, batching_parameters.txt."""

from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tfattn import files

MODELS_CONFIG = "models.config"
BATCHING_PARAMETERS = "batching_parameters.txt"

# Batch the rows of several requests. The sizes are a starting point: measure under your own load.
BATCHING = """\
# Read by: tensorflow_model_server --enable_batching --batching_parameters_file=...
# Written once; change it as your load needs it. Set num_batch_threads to the number of CPU cores.
max_batch_size { value: 32 }
# Do not wait for more requests while a thread is free; requests that arrive while all are busy form the next batch.
batch_timeout_micros { value: 0 }
# Reject requests at once while this number of batches waits: late answers help no client.
max_enqueued_batches { value: 16 }
num_batch_threads { value: 4 }
# Token requests of unequal length share a batch; the models detect this padding.
pad_variable_length_inputs: true
"""


def write(folder: Path, *, served_from: str) -> None:
    """Write models.config with every model of a folder, and batching_parameters.txt if it is missing.

    Args:
        folder: the folder of all exported models.
        served_from: the path of the folder on the server.
    """
    # Another export may add a model between listing and writing; repeat until the list is unchanged.
    written = None
    while written != (text := models_config(folder, served_from=served_from)):
        files.write_text(folder / MODELS_CONFIG, text)
        written = text
    if not (folder / BATCHING_PARAMETERS).exists():
        files.write_text(folder / BATCHING_PARAMETERS, BATCHING)


def models_config(folder: Path, *, served_from: str) -> str:
    """Return the text form of a ModelServerConfig with every model that has a version, by name."""
    config = model_server_config_pb2.ModelServerConfig()
    for model in sorted(path for path in folder.iterdir() if files.numbered(path)):
        entry = config.model_config_list.config.add()
        entry.name, entry.base_path, entry.model_platform = model.name, f"{served_from}/{model.name}", "tensorflow"
    head = "# Read by: tensorflow_model_server --model_config_file=...   Rewritten by every export.\n"
    return head + text_format.MessageToString(config)
