"""A LiteRT file in this process."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfattn import native
from tfattn.errors import ServingError
from tfattn.litert import model_file

INSTALL = "Install it: `pip install 'tfattn[litert]'`."


class LiteRtModel:
    """A LiteRT file; any number of threads may call it.

    Each call that runs at the same time has its own interpreter. Interpreters share the file's pages, and each has its
    own copy of the weights in the layout of the processor. At most one idle interpreter per processor is kept.

    Args:
        path: the file; it is checked before an interpreter opens it.
        num_threads: the threads of one call.

    Attributes:
        path: the file.
        description, files: see `ModelFile`.
        signatures: the names of the inputs and outputs of each signature.

    Raises:
        ServingError: see `model_file.read`; ai-edge-litert is not installed, or cannot open the file.

    Example:
        >>> model = LiteRtModel("reports_int8.tflite")
        >>> model.run("serving_default", {"token_ids": ids, "padding_mask": mask, "segment_ids": segments})["logits"]
    """

    def __init__(self, path: str | Path, *, num_threads: int = 1):
        self.path = Path(path)
        content = model_file.read(self.path)
        self.description, self.files = content.description, content.files
        self._num_threads = num_threads
        self._idle: list[Any] = []
        self._max_idle = os.cpu_count() or 1
        self._lock = threading.Lock()
        interpreter = self._interpreter()
        self.signatures = {
            name: (tuple(signature["inputs"]), tuple(signature["outputs"]))
            for name, signature in interpreter.get_signature_list().items()
        }
        self._types = {
            name: {
                key: (np.dtype(tensor["dtype"]), len(tensor["shape"]))
                for key, tensor in interpreter.get_signature_runner(name).get_input_details().items()
            }
            for name in self.signatures
        }
        self._idle.append(interpreter)

    def run(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Compute the outputs of a signature, arrays by name.

        Args:
            signature: a name in `signatures`.
            inputs: an array for each input; the types of numbers are converted.

        Raises:
            ServingError: the inputs are not those of the signature, or do not fit the model.
        """
        arrays = self._arrays(signature, inputs)
        with self._lock:
            interpreter = self._idle.pop() if self._idle else None
        interpreter = interpreter or self._interpreter()
        try:
            outputs = interpreter.get_signature_runner(signature)(**arrays)
        except (RuntimeError, ValueError) as error:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            message = (str(error).splitlines() or [""])[0]
            raise ServingError(
                f"LiteRT cannot compute `{signature}`: {message}", where=str(self.path), received=shapes
            ) from None
        with self._lock:
            if len(self._idle) < self._max_idle:
                self._idle.append(interpreter)  # an interpreter that failed is not used again
        return outputs

    def _arrays(self, signature: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if signature not in self.signatures:
            raise ServingError(
                "the LiteRT file has no such signature",
                where=str(self.path),
                expected=f"one of {', '.join(self.signatures)}",
                received=signature,
            )
        types = self._types[signature]
        if inputs.keys() != types.keys():
            raise ServingError(
                f"the inputs are not those of `{signature}`",
                where=str(self.path),
                expected=", ".join(types),
                received=", ".join(inputs) or "nothing",
            )
        arrays = {name: np.ascontiguousarray(inputs[name], dtype) for name, (dtype, _) in types.items()}
        for name, (_, rank) in types.items():
            if arrays[name].ndim != rank:
                raise ServingError(
                    f"the input `{name}` has another number of dimensions",
                    where=str(self.path),
                    expected=str(rank),
                    received=f"shape {arrays[name].shape}",
                )
        return arrays

    def _interpreter(self) -> Any:
        try:
            with native.errors_hidden():  # the runtime prints its delegate
                from ai_edge_litert.interpreter import Interpreter

                return Interpreter(model_path=str(self.path), num_threads=self._num_threads)
        except ImportError as error:
            raise ServingError("LiteRT is not installed", received=str(error), remedy=INSTALL) from None
        except (RuntimeError, ValueError) as error:
            message = (str(error).splitlines() or [""])[0]
            raise ServingError(
                "LiteRT cannot open the file", where=str(self.path), received=message, remedy=model_file.EXPORT_AGAIN
            ) from None
