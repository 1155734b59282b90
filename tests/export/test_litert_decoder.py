"""LiteRT files of decoders: the perplexity of the model, in one piece and in parts, and the gate of 8 bits."""

import numpy as np
import pytest

from tests.serving import authors
from tfattn.export import litert_decoder
from tfattn.export.litert_perplexity import file_perplexity, measure
from tfattn.litert.decoder_file import FILES, FOLDER
from tfattn.models.gpt import Gpt
from tfattn.serving.engine.litert_decoder import LiteRtDecoder
from tfattn.serving.generation.description import PREFILL
from tfattn.serving.generation.kv_cache import Layout

SIZES = {"vocabulary_size": 40, "hidden_dim": 32, "num_layers": 2, "num_heads": 4, "intermediate_dim": 48}
DECODERS = {
    "gpt-2": {},
    "window": {
        "positions": "rotary",
        "num_key_value_heads": 2,
        "window": 5,
        "global_layers": (1,),
        "norm": "both",
        "normalization": "rms_norm",
        "activation": "geglu",
        "use_bias": False,
        "qk_norm": True,
        "attention_soft_cap": 30.0,
        "logit_soft_cap": 20.0,
        "tied": False,
        "scale_embeddings": True,
    },
}


class Language:
    """The part of a tokenizer that a file needs."""

    suppressed_ids = ()


@pytest.mark.parametrize("options", DECODERS.values(), ids=DECODERS)
def test_a_file_computes_what_the_model_computes(tmp_path, options):
    model = Gpt(**SIZES, **options, initializer_range=0.4, max_sequence_length=64, dropout=0.0)
    ids = np.random.default_rng(0).integers(0, 40, 23).astype(np.int32)
    path = litert_decoder.DecoderFiles(model, Language(), {}).write(tmp_path / FOLDER, "float32")
    assert file_perplexity(path, [ids]) == pytest.approx(measure(model, [ids]).perplexity, rel=1e-4)

    _, cache = model.read(ids[None], model.empty_cache(1))
    expected = np.stack([np.stack([np.asarray(part)[0] for part in pair]) for pair in cache.recent])
    engine = LiteRtDecoder(tmp_path, tokenize=dict)
    own = engine.new_cache(Layout(2, options.get("num_key_value_heads", 4), 8, np.dtype(np.float32)))
    for start, end in ((0, 9), (9, 10), (10, 23)):
        inputs = {"token_ids": ids[None, start:end], "lengths": np.array([start], np.int32), "past": own}
        own.write(0, start, engine.run(PREFILL, inputs)["keys_values"][:, :, 0])
    np.testing.assert_allclose(own.read(0, len(ids)), expected, atol=2e-4)


@pytest.mark.parametrize(("allowed", "written"), [(10.0, "int8"), (-1.0, "float32")])
def test_8_bits_are_written_only_if_the_perplexity_stays(tmp_path, monkeypatch, capsys, allowed, written):
    language, task = authors.build()
    monkeypatch.setattr(litert_decoder, "MAX_LOSS", allowed)
    report = litert_decoder.write_decoder(tmp_path, task.model, language, texts=authors.TEXTS, precision="int8")
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [FILES[written]]
    assert report["int8"]["passed"] == (written == "int8") and report["int8"]["metric"] == "perplexity"
    assert report[written]["value"] == pytest.approx(report[written]["float32"], rel=0.05)
    said = " ".join(capsys.readouterr().err.split())
    assert ("so the file is not used" in said) == (written == "float32")
