"""A language model in a LiteRT file: prompts and steps of generation without TensorFlow."""

import statistics
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tfattn import files, native
from tfattn.errors import ServingError
from tfattn.litert import model_file
from tfattn.litert.decoder_file import DECODE, READ, TOKENIZER, cache_names, find
from tfattn.serving.api.failure import invalid
from tfattn.serving.engine.litert_cache import LiteRtCache
from tfattn.serving.generation.description import PREFILL, PROMPT_LOGPROBS, TOKENIZE
from tfattn.serving.generation.kv_cache import MIN_CAPACITY, Layout
from tfattn.serving.generation.sampler import log_probabilities, sample

HIDDEN = np.float32(-1e30)  # a bias that hides a key; infinity would give NaN
STEPS, MIN_GAIN = 9, 0.9  # of the measurement: fewer threads must take at most this part of the time
METADATA = ("precision", "num_layers", "num_groups", "head_dim", "window", "suppressed_ids")
INSTALL = "Install it: `pip install 'tfattn[litert]'`, or set `engine: tensorflow`."
Tokenize = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]


class LiteRtDecoder:
    """The language model of a version, run by LiteRT: the signatures of `DecodingSteps`, with a cache of its own.

    A step computes a token of each row; it takes no proposals, because a step with 8 tokens takes about three times as
    long as a step with 1 if weights have 8 bits.

    Args:
        folder: the version's folder, with a LiteRT file of the decoder.
        num_threads: the threads of a step.
        fewer_threads: whether to halve the number while this makes steps faster, which is measured when the file is
            opened. Threads wait for each other without sleeping, and hardly help if other programs use the processors.
        tokenize: computes the signature `tokenize`; needed only for models whose LiteRT file has no tokenizer.

    Attributes:
        folder: the version's folder.
        precision: of the weights.
        num_threads: the threads of a step, measured or as given.
        signatures: empty, because clients can request texts only.
        max_step_tokens, max_chunk, scores_prompts: see `LanguageModel`.

    Raises:
        ServingError: there is no such file, it is damaged, not of a language model or of another export, or LiteRT is
            not installed.
    """

    max_step_tokens = 1
    max_chunk = 128
    scores_prompts = True
    signatures: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, folder: Path, *, num_threads: int = 1, fewer_threads: bool = False, tokenize: Tokenize | None = None
    ):
        self.folder = Path(folder)
        path = find(self.folder)
        if path is None:
            raise ServingError(
                "the version has no LiteRT file of its language model",
                where=str(folder),
                remedy="Export with `export: {formats: [saved_model, litert]}`, or set `engine: tensorflow`.",
            )
        content = model_file.read(path)
        self._sizes = _sizes(content.description, path)
        _check_manifest(self.folder, path)
        self.precision = self._sizes["precision"]
        if TOKENIZER in content.files:
            self._tokenize = _tokenizer(content.files[TOKENIZER], path)
        elif tokenize is not None:
            self._tokenize = tokenize
        else:
            raise ServingError(
                "the LiteRT file has no tokenizer",
                where=str(path),
                remedy="Use it next to its SavedModel, which tokenizes.",
            )
        self._lock = threading.Lock()
        self.num_threads = num_threads
        self._graphs = self._opened(path, num_threads)
        if fewer_threads:
            self._choose_threads(path)

    @staticmethod
    def new_cache(layout: Layout, *, rows: int = 1, capacity: int = MIN_CAPACITY) -> LiteRtCache:
        """Return an empty cache for the inputs `past`."""
        return LiteRtCache(layout, rows=rows, capacity=capacity)

    def run(self, signature: str, inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """Compute outputs of a signature of `DecodingSteps`; `past` is a `LiteRtCache`."""
        if signature == TOKENIZE:
            return self._tokenize(inputs)
        with self._lock:
            if signature == PREFILL:
                _, keys_values = self._compute(READ, inputs, np.zeros(1, np.int32))
                return {"keys_values": keys_values}
            if signature == PROMPT_LOGPROBS:
                logits, keys_values = self._compute(READ, inputs, np.arange(inputs["token_ids"].size, dtype=np.int32))
                scored = log_probabilities(logits, inputs["next_ids"][0])
                return {
                    **{name: np.swapaxes(values, 0, 1) for name, values in scored.items()},
                    "keys_values": keys_values,
                }
            rows, times = inputs["token_ids"].shape
            if times != 1:
                raise invalid(f"a step of the LiteRT engine takes 1 token of each text, received {times}")
            logits, keys_values = self._compute(DECODE, inputs, np.arange(rows, dtype=np.int32))
            sampled = sample(logits, inputs, suppressed_ids=self._sizes["suppressed_ids"], outputs=outputs)
            return {**sampled, "keys_values": keys_values}

    def _choose_threads(self, path: Path) -> None:
        """Open the file with fewer threads while this makes steps faster."""
        seconds = self._step_seconds() if self.num_threads > 1 else 0.0
        while self.num_threads > 1:
            before, before_seconds = self._graphs, seconds
            self._graphs = self._opened(path, self.num_threads // 2)
            seconds = self._step_seconds()
            if seconds > MIN_GAIN * before_seconds:
                self._graphs = before
                return
            self.num_threads //= 2

    def _opened(self, path: Path, num_threads: int) -> dict[str, "_Graph"]:
        interpreter, names = _interpreter(path, num_threads), cache_names(self._sizes["num_layers"])
        return {name: _Graph(interpreter, name, names) for name in (READ, DECODE)}

    def _step_seconds(self) -> float:
        """Return the median time of a step with a text."""
        layout = Layout(*(self._sizes[key] for key in ("num_layers", "num_groups", "head_dim")), np.dtype(np.float32))
        one = np.zeros(1, np.int32)
        inputs = {"token_ids": one[None], "lengths": one, "past": self.new_cache(layout)}
        times = []
        for _ in range(STEPS + 1):
            started = time.perf_counter()
            self._compute(DECODE, inputs, one)
            times.append(time.perf_counter() - started)
        return statistics.median(times[1:])  # the first step allocates memory

    def _compute(self, name: str, inputs: Mapping[str, Any], wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cache: LiteRtCache = inputs["past"]
        token_ids, lengths = inputs["token_ids"], inputs["lengths"].astype(np.int32)
        rows, times = token_ids.shape
        positions = lengths[:, None] + np.arange(times, dtype=np.int32)
        slots = np.arange(cache.capacity)
        is_past = slots < lengths[:, None]  # (B, S)
        is_own = np.tri(times, dtype=bool)
        arrays = {
            "token_ids": token_ids,
            "positions": positions,
            "wanted": wanted,
            "past_bias": np.where(is_past, 0, HIDDEN)[:, None, None],
            "own_bias": np.where(is_own, 0, HIDDEN)[None, None],
        }
        if (window := self._sizes["window"]) is not None:
            is_near = is_past[:, None] & (slots > positions[:, :, None] - window)  # (B, T, S)
            own = np.arange(times)
            arrays["window_past_bias"] = np.where(is_near, 0, HIDDEN)[:, None]
            arrays["window_own_bias"] = np.where(is_own & (own[:, None] - own < window), 0, HIDDEN)[None, None]
        logits, keys_values = self._graphs[name].compute(arrays, cache)
        num_layers, num_groups, head_dim, _ = cache.layout
        return logits, keys_values.reshape(num_layers, 2, rows, num_groups, times, head_dim)


class _Graph:
    """A signature of the file, with its inputs and outputs as views of the interpreter's memory.

    Args:
        interpreter: the interpreter.
        signature: the name.
        cache: the names of the inputs with the cache.
    """

    def __init__(self, interpreter: Any, signature: str, cache: Sequence[tuple[str, str]]):
        self._runtime = interpreter._interpreter  # its public methods reach the first signature only
        self._index = self._runtime.GetSubgraphIndexFromSignature(signature)
        definition = interpreter._get_full_signature_list()[signature]
        self._inputs, self._outputs = definition["inputs"], definition["outputs"]
        self._cache_names = [name for pair in cache for name in pair]
        self._views: dict[str, np.ndarray] = {}
        self._bound: Callable[[], LiteRtCache | None] = lambda: None

    def compute(self, arrays: Mapping[str, np.ndarray], cache: LiteRtCache) -> tuple[np.ndarray, np.ndarray]:
        """Return a view of the logits, until the next call, and a copy of the new keys and values."""
        sizes = {name: array.shape for name, array in arrays.items()}
        sizes |= dict.fromkeys(self._cache_names, cache.arrays[0].shape)
        is_bound = self._bound() is cache and cache.arrays[0] is self._views[self._cache_names[0]]
        if not is_bound or any(self._views[name].shape != size for name, size in sizes.items()):
            self._bind(sizes, cache)
        for name, array in arrays.items():
            self._views[name][...] = array
        self._runtime.Invoke(self._index)
        return self._output("logits"), self._output("keys_values").copy()

    def _bind(self, sizes: Mapping[str, tuple[int, ...]], cache: LiteRtCache) -> None:
        """Resize the inputs, and move the cache to their memory; another cache gets memory of its own."""
        before = self._bound()
        if before is not None and before.arrays[0] is self._views[self._cache_names[0]]:
            before.arrays = [array.copy() for array in before.arrays]
        self._bound, self._views = lambda: None, {}
        for name, size in sizes.items():
            self._runtime.ResizeInputTensor(self._inputs[name], np.array(size, np.int32), False, self._index)
        self._runtime.AllocateTensors(self._index)
        self._views = {name: self._view(self._inputs[name]) for name in sizes}
        own = [self._views[name] for name in self._cache_names]
        for view, array in zip(own, cache.arrays, strict=True):
            view[...] = array
        cache.arrays, self._bound = own, weakref.ref(cache)

    def _output(self, name: str) -> np.ndarray:
        return self._view(self._outputs[name])

    def _view(self, index: int) -> np.ndarray:
        return self._runtime.tensor(self._runtime, index, self._index)


def _sizes(description: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the metadata of a decoder."""
    if description.get("kind") != "decoder":
        expected, received = "a file with the metadata of a decoder", description.get("kind") or "no such metadata"
    elif missing := [key for key in METADATA if key not in description]:
        expected, received = ", ".join(METADATA), f"metadata without {', '.join(missing)}"
    else:
        return description
    raise ServingError(
        "the LiteRT file is not of a language model",
        where=str(path),
        expected=expected,
        received=str(received),
        remedy=model_file.EXPORT_AGAIN,
    )


def _check_manifest(folder: Path, path: Path) -> None:
    """Refuse the file of another export, whose tokens may differ."""
    if not (folder / files.MANIFEST).is_file():
        return
    entry = files.read_manifest(folder, remedy=model_file.EXPORT_AGAIN)["files"].get(str(path.relative_to(folder)))
    if entry is None or files.sha256(path) != entry["sha256"]:
        raise ServingError(
            "the LiteRT file is of another export",
            where=str(path),
            expected=f"the file of {files.MANIFEST}",
            received="no such file" if entry is None else "a file with another SHA-256",
            remedy=model_file.EXPORT_AGAIN,
        )


def _interpreter(path: Path, num_threads: int) -> Any:
    try:
        with native.errors_hidden():  # the runtime prints its delegate
            from ai_edge_litert.interpreter import Interpreter

            interpreter = Interpreter(model_path=str(path), num_threads=num_threads)
            interpreter.allocate_tensors()
            return interpreter
    except ImportError as error:
        raise ServingError("LiteRT is not installed", received=str(error), remedy=INSTALL) from None
    except (RuntimeError, ValueError) as error:
        message = (str(error).splitlines() or [""])[0]
        raise ServingError(
            "LiteRT cannot open the file", where=str(path), received=message, remedy=model_file.EXPORT_AGAIN
        ) from None


def _tokenizer(content: bytes, path: Path) -> Tokenize:
    """Return a function that tokenizes texts (B,) of bytes, as the signature of the same name."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(content.decode())
    except Exception as error:  # the package has no class of errors of its own
        raise ServingError(
            "cannot read the tokenizer in the LiteRT file",
            where=str(path),
            received=(str(error).splitlines() or [""])[0],
            remedy=model_file.EXPORT_AGAIN,
        ) from None

    def tokenize(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        texts = [text.decode("utf-8", "replace") for text in inputs["text"]]
        found = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        lengths = np.array([len(ids) for ids in found], np.int32)
        token_ids = np.zeros((len(found), max(lengths, default=0)), np.int32)
        for row, ids in zip(token_ids, found, strict=True):
            row[: len(ids)] = ids
        return {"token_ids": token_ids, "lengths": lengths}

    return tokenize
