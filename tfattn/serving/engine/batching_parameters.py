"""The parameters of dynamic batching in batching_parameters.txt, the file format of tensorflow_model_server."""

import os
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2

from tfattn.errors import ServingError

FILE = "batching_parameters.txt"


@dataclass(frozen=True, kw_only=True)
class BatchingParameters:
    """The parameters of dynamic batching.

    Args:
        max_batch_size: the maximum number of rows of a batch.
        timeout: the time in seconds that an incomplete batch waits for more rows.
        max_queued_batches: the maximum number of full batches of rows in the queue; further requests are refused.
        num_threads: the number of batches that are computed at a time.
    """

    max_batch_size: int = 32
    timeout: float = 0.0
    max_queued_batches: int = 10
    num_threads: int = os.cpu_count() or 1

    @property
    def max_queued_rows(self) -> int:
        """The maximum number of rows in the queue."""
        return self.max_batch_size * self.max_queued_batches


def read(path: Path) -> BatchingParameters:
    """Read a file of parameters. Missing values are TF Serving's defaults, with at most one thread per core.

    Raises:
        ServingError: the file cannot be parsed, or a value is out of range.
    """
    message = _message()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        raise ServingError("cannot read the batching parameters", where=str(path), received=str(error)) from None
    cores = os.cpu_count() or 1
    given = {field.name: getattr(message, field.name).value for field, _ in message.ListFields() if field.message_type}
    minimum = {"max_batch_size": 1, "batch_timeout_micros": 0, "max_enqueued_batches": 1, "num_batch_threads": 1}
    for name, value in given.items():
        if value < minimum.get(name, value):
            raise ServingError(
                f"`{name}` is out of range",
                where=str(path),
                expected=f"at least {minimum[name]}",
                received=str(value),
            )
    return BatchingParameters(
        max_batch_size=given.get("max_batch_size", 1000),
        timeout=given.get("batch_timeout_micros", 0) / 1e6,
        max_queued_batches=given.get("max_enqueued_batches", 10),
        num_threads=min(given.get("num_batch_threads", cores), cores),
    )


def find(setting: str, models: Path) -> Path | None:
    """Find the file of parameters; return None if every request is computed alone.

    Args:
        setting: the server's setting `batching`: a file, "auto" or "off".
        models: the served path. "auto" looks in this folder, its parent and its grandparent.
    """
    if setting == "off":
        return None
    if setting != "auto":
        return Path(setting)
    candidates = (folder / FILE for folder in (models, *models.resolve().parents[:2]))
    return next((path for path in candidates if path.is_file()), None)


def _message():
    """Create the message BatchingParameters, which the package tensorflow-serving-api lacks."""
    value, flag, word = (f".google.protobuf.{name}Value" for name in ("Int64", "Bool", "String"))
    fields = {
        "max_batch_size": (1, value),
        "batch_timeout_micros": (2, value),
        "max_enqueued_batches": (3, value),
        "num_batch_threads": (4, value),
        "thread_pool_name": (5, word),
        "allowed_batch_sizes": (6, None),
        "pad_variable_length_inputs": (7, None),
        "enable_large_batch_splitting": (8, flag),
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="tfattn/batching_parameters.proto",
        package="tfattn",
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    described = file.message_type.add(name="BatchingParameters")
    for name, (number, kind) in fields.items():
        field = described.field.add(name=name, number=number, label=3 if name == "allowed_batch_sizes" else 1)
        if kind:
            field.type, field.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, kind
        else:
            field.type = 3 if name == "allowed_batch_sizes" else 8  # int64, bool
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tfattn.BatchingParameters"))()
