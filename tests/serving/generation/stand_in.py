"""A language model whose text depends on every input: a wrong cache, count or setting changes the text.

Its keys and values are its tokens. It computes exactly, in NumPy, as no network does.
"""

import codecs
import json
import zlib
from pathlib import Path

import numpy as np

from tfattn.serving.generation.kv_cache import KVCache

SPECIAL = {"<|im_start|>": 256, "<|im_end|>": 257, "<|endoftext|>": 258}
MORE = ["é".encode(), "天气".encode(), b" END", b"ND"]
TOKENS = [bytes([byte]) for byte in range(256)] + [b""] * len(SPECIAL) + MORE
LAYERS, GROUPS, WIDTH = 2, 3, 4
DEFAULTS = {"temperature": 1.0}
SETTINGS = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")


class StandIn:
    """A model of bytes.

    Args:
        folder: where it writes the assets of an export.
        context: its context, in tokens.
        script: the tokens that it always generates; None for tokens that depend on the inputs.
        chat: whether it has a chat template.
        takes_logit_bias: whether its steps have the input `logit_bias`.

    Attributes:
        read: the number of tokens of each call of prefill.
        steps: rows and capacity of each call of decode_step.
        num_read: the number of tokens of each row in each call of decode_step.
        before_step: called before each step.
    """

    def __init__(
        self, folder: Path, *, context=200, script=None, chat=True, end_ids=(257, 258), takes_logit_bias=True, **more
    ):
        self.folder, self.script = folder, script
        self.read, self.steps, self.num_read = [], [], []
        self.before_step = lambda: None
        description = {
            "context": context,
            "end_ids": end_ids,
            "vocabulary_size": len(TOKENS),
            "num_layers": LAYERS,
            "num_groups": GROUPS,
            "head_dim": WIDTH,
            "dtype": "float32",
            "takes_logit_bias": takes_logit_bias,
            "special_tokens": SPECIAL,
            "chat_template": {"begin": "<|im_start|>", "end": "<|im_end|>", "system": None} if chat else None,
            "defaults": DEFAULTS,
            **more,
        }
        (folder / "assets").mkdir(exist_ok=True, parents=True)
        (folder / "assets/generation.json").write_text(json.dumps(description))
        (folder / "assets/token_bytes.json").write_text(json.dumps([token.decode("latin-1") for token in TOKENS]))

    max_step_tokens, max_chunk, new_cache, scores_prompts = 8, 512, staticmethod(KVCache), True

    def run(self, signature, inputs, outputs=()):
        return getattr(self, signature)(**inputs)

    def tokenize(self, text):
        longest = max(map(len, text))
        ids = np.zeros((len(text), longest), np.int32)
        for row, one in zip(ids, text, strict=True):
            row[: len(one)] = list(one)
        return {"token_ids": ids, "lengths": np.array([len(one) for one in text], np.int32)}

    def prefill(self, token_ids, padding_mask, lengths, past):
        assert past.ctypes.data % 64 == 0 and padding_mask.all() and len(token_ids) == 1
        assert (past[:, :, 0, :, : lengths[0]] > 0).all() and token_ids.shape[1] + lengths[0] <= past.shape[4]
        self.read.append(token_ids.shape[1])
        return {"keys_values": _keys_values(token_ids)}

    def prompt_logprobs(self, next_ids, **inputs):
        """Scores that depend on the position and the token after it."""
        start = int(inputs["lengths"][0])
        positions = start + np.arange(next_ids.shape[1])
        likeliest = np.broadcast_to(np.arange(20), (1, next_ids.shape[1], 20))
        return {
            **self.prefill(**inputs),
            "log_probability": -(1000 * positions + next_ids).astype(np.float32),
            "likeliest_ids": likeliest,
            "likeliest_log_probabilities": -likeliest.astype(np.float32),
        }

    def decode_step(self, token_ids, padding_mask, lengths, past, index, allowed, logit_bias=None, **settings):
        self.before_step()
        assert past.ctypes.data % 64 == 0 and np.isfinite(past).all()
        self.steps.append(past.shape[2:5:2])
        self.num_read.append(padding_mask.sum(axis=1).tolist())
        drawn, probabilities = np.zeros_like(token_ids), np.zeros(token_ids.shape, np.float32)
        likeliest = np.zeros((*token_ids.shape, 20), np.int32)
        for row, time in zip(*np.nonzero(padding_mask), strict=True):
            known = past[:, :, row, :, : lengths[row]]
            assert (known == known[:1, :1, :1, :, :1]).all() and lengths[row] + time < past.shape[4]
            guessed = token_ids[row, 1 : time + 1]
            seen = [*(known[0, 0, 0, :, 0].astype(int) - 1).tolist(), int(token_ids[row, 0]), *guessed.tolist()]
            own = {name: float(settings[name][row]) for name in SETTINGS}
            counts, in_prompt = settings["counts"][row].copy(), settings["in_prompt"][row]
            np.add.at(counts, guessed, 1)
            scores = self.scores(seen, own, int(settings["seed"][row]), int(index[row] + time), counts, in_prompt)
            if logit_bias is not None:
                scores = scores + np.broadcast_to(logit_bias[row], scores.shape)
            scores = np.where(np.broadcast_to(allowed[row], scores.shape), scores, -np.inf)
            drawn[row, time], likeliest[row, time] = scores.argmax(), (-scores).argsort()[:20]
            probabilities[row, time] = -0.5
        return {
            "token_ids": drawn,
            "keys_values": _keys_values(token_ids),
            "log_probability": probabilities,
            "likeliest_ids": likeliest,
            "likeliest_log_probabilities": np.full(likeliest.shape, -0.5, np.float32),
        }

    def scores(self, seen, settings, seed, index, counts, in_prompt):
        """The scores of the next token, which depend on every input of the step."""
        if self.script is not None:
            return np.eye(len(TOKENS), dtype=np.float32)[self.script[index] if index < len(self.script) else 258]
        facts = [seen, sorted(settings.items()), seed, index, np.flatnonzero(counts).tolist(), counts.sum().item()]
        facts += [np.flatnonzero(in_prompt).tolist()]
        random = np.random.default_rng(zlib.crc32(json.dumps(facts).encode()))
        scores = random.random(len(TOKENS))
        scores[[*range(128, 259)]] -= 0.9  # half a character, or the end, now and then
        return scores

    def alone(self, prompt_ids, settings, *, seed, length):
        """The tokens of a text, computed without a cache."""
        seen, written = list(prompt_ids), []
        counts, in_prompt = np.zeros(len(TOKENS), np.float32), np.zeros(len(TOKENS), bool)
        in_prompt[seen] = True
        own = {name: float(np.float32(value)) for name, value in settings.items()}
        seed = int(np.array(seed & 0xFFFFFFFF, np.uint32).view(np.int32))
        while len(written) < length:
            token_id = int(self.scores(seen, own, seed, len(written), counts, in_prompt).argmax())
            if token_id in (257, 258):
                break
            written.append(token_id)
            seen.append(token_id)
            counts[token_id] += 1
        return written


def _keys_values(token_ids):
    """The token itself, above 0, in each layer and head: (B, T) -> (L, 2, B, G, T, K)."""
    values = token_ids[None, None, :, None, :, None].astype(np.float32) + 1
    return np.broadcast_to(values, (LAYERS, 2, token_ids.shape[0], GROUPS, token_ids.shape[1], WIDTH))


def text_of(token_ids):
    """The text of tokens, without an incomplete character at its end."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(b"".join(TOKENS[one] for one in token_ids))
