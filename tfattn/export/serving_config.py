"""What a TensorFlow model server is told about a folder of models: models.config and batching_parameters.txt."""

from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tfattn import files

MODELS_CONFIG = "models.config"
BATCHING_PARAMETERS = "batching_parameters.txt"

# Rows of several requests go through the model together. The sizes are a start: measure under your own load.
BATCHING = """\
# Read by: tensorflow_model_server --enable_batching --batching_parameters_file=...
# Written once; change it as your load needs it. Set num_batch_threads to the number of CPU cores.
max_batch_size { value: 32 }
# A thread that is free takes what there is; what comes while all are at work makes the next batch.
batch_timeout_micros { value: 0 }
# What comes when so many batches wait is refused at once: better than an answer that nobody waits for any more.
max_enqueued_batches { value: 16 }
num_batch_threads { value: 4 }
# Token requests of unequal length share a batch; the models tell such padding from tokens.
pad_variable_length_inputs: true
"""


def write(folder: Path, *, served_from: str) -> None:
    """List every model of a folder in its models.config; add batching_parameters.txt where there is none.

    Args:
        folder: the folder of all exported models.
        served_from: the folder as which the server sees it.
    """
    # Another export may add its model between the look and the write: whoever writes last has looked after it.
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
    head = "# Read by: tensorflow_model_server --model_config_file=...   Written anew by every export.\n"
    return head + text_format.MessageToString(config)
