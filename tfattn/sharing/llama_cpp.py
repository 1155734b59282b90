"""The comparison of a GGUF file with its export: greedy texts of llama.cpp in a fresh process."""

import json
import tempfile
from pathlib import Path

from tfattn import console
from tfattn.errors import ExportError
from tfattn.features import TEXT
from tfattn.sharing import worker
from tfattn.sharing.probes import text_examples
from tfattn.sharing.trained_export import TrainedExport
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.text_generator import MAX_WORDS, SAMPLE_TOKENS, TextGenerator

PROGRAM = "llama_cpp_worker.py"
NEEDED = ("xllamacpp",)
PROMPTS = ("The capital of France is", "Once upon a time", "3 + 4 =")
EXACT = "float32"


def check(file: Path, export: TrainedExport, precision: str) -> str:
    """Compare the greedy texts of llama.cpp with those of the export.

    Returns:
        a sentence about the result, also if llama.cpp is not installed.

    Raises:
        ExportError: llama.cpp cannot load the file, or continues a prompt differently from weights in float32.
    """
    if worker.missing(NEEDED):
        sentence = "Not compared with llama.cpp: xllamacpp not installed."
        console.note(f"{sentence} To compare: pip install xllamacpp")
        return sentence
    prompts = [" ".join(text.split()[:MAX_WORDS]) for text in (*text_examples(export.card), *PROMPTS)]
    task = export.build_task()
    with console.step("comparing with llama.cpp in a fresh process"):
        with tempfile.TemporaryDirectory() as scratch:
            request = {
                "file": str(file.absolute()),
                "prompts": prompts,
                "max_tokens": SAMPLE_TOKENS,
                "context": task.model.max_sequence_length,
            }
            path, failure = worker.run(PROGRAM, request, Path(scratch), result="result.json")
            if path is None:
                raise _different("the file", "a file that it loads", failure)
            result = json.loads(path.read_text(encoding="utf-8"))
        generator = TextGenerator(TrainedEnsemble([(export.preprocessor, task)]))
        expected = generator.predict([{TEXT: prompt} for prompt in prompts])
    equal = 0
    for prompt, answer, ids, length in zip(
        prompts, result["answers"], expected["token_ids"], expected["lengths"], strict=True
    ):
        ours, theirs = ids[:length].tolist(), [row for row in answer["ids"] if row != export.preprocessor.end_id]
        equal += ours == theirs
        if ours != theirs and precision == EXACT:
            raise _different(repr(prompt), f"the tokens {ours}", f"{theirs}, {answer['text']!r}")
    sentence = f"{equal} of {len(prompts)} greedy texts of {SAMPLE_TOKENS} tokens are equal"
    console.note(f"parity with llama.cpp: {sentence}")
    return f"Compared with {result['version']}: {sentence}."


def _different(where: str, expected: str, received: str) -> ExportError:
    what = "llama.cpp does not continue texts as the export does"
    return worker.different(what, where=where, expected=expected, received=received)
