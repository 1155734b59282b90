"""A SavedModel in this process, loaded and run like in TF Serving: a session, fed and fetched by signature."""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations of tokenizers
from grpc import StatusCode
from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
from tensorflow.python.saved_model.loader_impl import SavedModelLoader, get_asset_tensors

from tfattn import files
from tfattn.errors import DataError, SavedModelError, ServingError
from tfattn.graphs import operations
from tfattn.serving.api.failure import CODES, Failure
from tfattn.serving.api.signature import Signature
from tfattn.serving.engine import links
from tfattn.serving.generation.description import PROMPT_LOGPROBS
from tfattn.serving.generation.kv_cache import MIN_CAPACITY, KVCache, Layout

# TensorFlow's own thread pool would add a thread switch to each call, without a gain for one thread.
CALLING_THREAD = config_pb2.RunOptions(inter_op_thread_pool=-1)
EXPORT_AGAIN = "Copy the version's whole folder once more, or export it again: `tfattn export PIPELINE --force`."
LITERT = "assets.extra/litert/"
_TAGS = [tf.saved_model.SERVING]
MAX_BYTES = 2**31 - 1  # the size limit of a protocol buffer message
_REMEDY = (
    "If you trust the author of the model, allow them: `tfattn serve --set allow_operations=[{names}]`, "
    "or `tfattn predict` with one --allow-operation for each."
)


class SavedModel:
    """One version of an exported model in memory; any number of threads may call it.

    The operations of the graph are checked before any of them runs (graphs/operations.py).

    Args:
        folder: the version's folder. Its files are verified if it has a manifest; exports of tfattn must have one.
        allow_operations: the names of operations to allow although they have side effects.
        operation_threads: the threads of one operation (TensorFlow's intra-op parallelism); 0 for one per CPU core.
            TensorFlow uses the value of the first model of a process for all of them.

    Attributes:
        folder: the version's folder.
        signatures: the model's signatures by name.
        max_step_tokens, max_chunk, scores_prompts: of a language model, see `LanguageModel`.

    Raises:
        ServingError: the folder is not a SavedModel, or the model needs operations that are not installed.
        SavedModelError: an operation has side effects, or a file is outside the folder.
        DataError: the files differ from the manifest.
    """

    # A step with 8 tokens takes about as long as with 1, because either reads all weights. Twice as many take a third
    # longer, and proposals seldom save as much.
    max_step_tokens = 8
    max_chunk = 512

    def __init__(self, folder: Path, *, allow_operations: Collection[str] = (), operation_threads: int = 0):
        self.folder = Path(folder)
        links.check_files(self.folder)
        if (self.folder / files.MANIFEST).is_file():
            known = files.read_manifest(self.folder, remedy=EXPORT_AGAIN)["files"]
            # LiteRT files are verified when they are opened, so that a damaged one does not prevent serving.
            needed = {name: file for name, file in known.items() if not name.startswith(LITERT)}
            files.check(self.folder, needed, remedy=EXPORT_AGAIN)
        self._graph = tf.Graph()
        self._run_options = CALLING_THREAD if operation_threads == 1 else config_pb2.RunOptions()
        options = config_pb2.ConfigProto(intra_op_parallelism_threads=operation_threads, allow_soft_placement=True)
        try:
            loader = _loader(self.folder)
            loaded = loader.get_meta_graph_def_from_tags(_TAGS)
            _check_manifest(loaded, self.folder)
            _check_operations(loaded, self.folder, allow_operations)
            links.check_inside(map(os.fsdecode, get_asset_tensors(str(self.folder), loaded).values()), self.folder)
            with self._graph.as_default():
                self._session = tf.compat.v1.Session(config=options)
                saver, _ = loader.load_graph(self._graph, _TAGS)
                loader.restore_variables(self._session, saver)
                loader.run_init_ops(self._session, _TAGS)
        except (OSError, ValueError, KeyError, RuntimeError, TypeError, tf.errors.OpError) as error:
            raise ServingError(
                "cannot load the SavedModel",
                where=str(self.folder),
                received=(str(error).splitlines() or [type(error).__name__])[0],
                remedy=EXPORT_AGAIN,
            ) from None
        self.signatures = {
            name: Signature.of(name, message)
            for name, message in sorted(loaded.signature_def.items())
            if not name.startswith("__")
        }
        self.scores_prompts = PROMPT_LOGPROBS in self.signatures  # older exports do not
        self._functions: dict[Any, Callable[..., list]] = {}
        self._lock = threading.Lock()

    @staticmethod
    def new_cache(layout: Layout, *, rows: int = 1, capacity: int = MIN_CAPACITY) -> KVCache:
        """Return an empty key/value cache of a language model."""
        return KVCache(layout, rows=rows, capacity=capacity)

    def run(
        self, signature: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Compute outputs.

        Args:
            signature: a name in `signatures`.
            inputs: an array for each input without a default value.
            outputs: the names of the outputs to compute; all outputs if empty.

        Raises:
            Failure: the code and message of a TensorFlow error.
        """
        definition = self.signatures[signature]
        names = tuple(outputs) or tuple(definition.outputs)
        fed = tuple(name for name in definition.inputs if name in inputs)
        try:
            values = self._function(definition, fed, names)(*(inputs[name] for name in fed))
        except tf.errors.OpError as error:
            raise Failure(CODES.get(error.error_code, StatusCode.INTERNAL), error.message) from None
        except (TypeError, ValueError) as error:  # arrays that do not fit their placeholder
            raise Failure(StatusCode.INVALID_ARGUMENT, str(error)) from None
        return dict(zip(names, map(np.asarray, values), strict=True))

    def _function(self, signature: Signature, fed: tuple[str, ...], names: tuple[str, ...]) -> Callable[..., list]:
        key = (signature.name, fed, names)
        with self._lock:
            if key not in self._functions:
                with self._graph.as_default():
                    options = config_pb2.CallableOptions(run_options=self._run_options)
                    options.feed.extend(signature.inputs[name].tensor_name for name in fed)
                    options.fetch.extend(signature.outputs[name].tensor_name for name in names)
                    self._functions[key] = self._session._make_callable_from_options(options)
        return self._functions[key]


def _loader(folder: Path) -> SavedModelLoader:
    path = folder / "saved_model.pb"
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path.name} is larger than 2 GiB, which no SavedModel is")
    return SavedModelLoader(str(folder))


def _check_manifest(meta_graph: meta_graph_pb2.MetaGraphDef, folder: Path) -> None:
    """Refuse an export of tfattn without its manifest, because its files cannot be verified."""
    path = folder / files.MANIFEST
    if meta_graph.meta_info_def.meta_graph_version == files.PRODUCER and not path.is_file():
        raise DataError("the file is missing", where=str(path), remedy=EXPORT_AGAIN)


def _check_operations(meta_graph: meta_graph_pb2.MetaGraphDef, folder: Path, allow_operations: Collection[str]) -> None:
    """Refuse a model with operations that have side effects."""
    try:
        operations.check(meta_graph, allowed=allow_operations, remedy=_REMEDY)
    except SavedModelError as error:
        error.where = ": ".join(filter(None, (str(folder), error.where)))
        raise
