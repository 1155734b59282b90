"""The bundle for phones generates the texts of the model in LiteRT-LM."""

import importlib.util
import json
import subprocess
import sys

import pytest

from tests.serving import authors
from tfattn.errors import ExportError
from tfattn.export import litert_bundle
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.generation.request import Request
from tfattn.serving.generation.scheduler import Scheduler

# The second is shorter than a prefill, and the last is longer.
PROMPTS = ("To be, or not to be, or not", "whether it is", "é ß 日本語 42 " * 9)
TOKENS = 24
# In a process of its own: two runtimes of LiteRT would share symbols.
SCRIPT = """
import json, sys
import litert_lm
from litert_lm import interfaces
path, prompts, tokens = json.loads(sys.argv[1])
engine = litert_lm.Engine(path, interfaces.Backend.CPU(), max_num_tokens=256)
sampler = interfaces.SamplerConfig(top_k=1, top_p=1.0, temperature=1.0, seed=0)
texts = []
for prompt in prompts:
    options = {"apply_prompt_template": False, "sampler_config": sampler, "max_output_tokens": tokens}
    session = engine.create_session(**options)
    session.run_prefill([prompt])
    texts += session.run_decode().texts
    session.close()
print(json.dumps([texts, engine.eos_token_ids]))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    missing = [name for name in ("litert_lm", "litert_lm_builder") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: pip install litert-lm litert-lm-builder")
    path = tmp_path_factory.mktemp("bundle") / "author.litertlm"
    language, task = authors.build()
    litert_bundle.write_bundle(
        path, task.model, language, texts=authors.TEXTS, precision="float32", capacity=256, activations="fp32"
    )
    return path


def test_texts_are_those_of_the_model(bundle, tmp_path):
    given = json.dumps([str(bundle), PROMPTS, TOKENS])
    done = subprocess.run([sys.executable, "-c", SCRIPT, given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found, ends = json.loads(done.stdout.splitlines()[-1])
    language, _ = authors.build()
    assert {end for [end] in ends} == {*language.end_ids, language.special_token_id("<|im_end|>")}
    authors.write_litert(tmp_path)
    with Scheduler(LiteRtDecoder(tmp_path / authors.NAME / "1")) as scheduler:
        for prompt, text in zip(PROMPTS, found, strict=True):
            request = Request(prompts=(prompt,), temperature=0.0, max_tokens=TOKENS)
            assert "".join(chunk.text for chunk in scheduler.generate(request)) == text


def test_another_tokenizer_is_refused(tmp_path):
    with pytest.raises(ExportError, match="no counterpart in a bundle: expected byte-level BPE, received object"):
        litert_bundle.write_bundle(tmp_path / "x", None, object(), texts=(), precision="int8")
