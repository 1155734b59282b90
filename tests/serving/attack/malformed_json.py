"""Bodies of REST requests as nobody should send them, from a grammar, from mutation and from a list of extremes."""

import gzip
import json
import random
from collections.abc import Sequence

from tests.serving.attack.mutation import mutated

KEYS = ("instances", "inputs", "signature_name", "examples", "context", "text", "b64", "serving_default", "", "é", "\0")
SCALARS = (
    *(
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "1e3",
        "1e400",
        "-1e-400",
        "NaN",
        "Infinity",
        "-Infinity",
        "Inf",
    ),
    *(
        '""',
        '"x"',
        '"\\ud800"',
        '"\\u0000"',
        '"\\x"',
        '"é"',
        '"a\nb"',
        "'x'",
        "18446744073709551616",
        "9" * 5000,
        "nul",
    ),
    *("01", "+1", ".5", "1.", "0x10", "undefined", '{"b64": "aGVsbG8="}', '{"b64": "*"}', '{"b64": 1}', "{}", "[]"),
)
TOKENS = ("{", "}", "[", "]", ",", ":", " ", "//", "/**/", "#", "\ufeff", '"')
PATHS = (
    *("/v1/models/{}:predict",) * 40,
    "/v1/models/{}:classify",
    "/v1/models/{}:regress",
    "/v1/models/{}/versions/1:predict",
    "/v1/models/{}/versions/99999999999999999999:predict",
    "/v1/models/{}/labels/none:predict",
    "/v1/models/{}x:predict",
    "/v1/models/%2e%2e%2f{}:predict",
    "/v1/models/{}:PREDICT",
    "/v1/models/{}",
    "/v1/foo",
    "/",
)


class Requests:
    """An endless row of whole HTTP requests with bad bodies, the same for the same seed.

    Args:
        model: the name of a model that classifies texts.
        texts: what it could be asked about.
        source: where the chance comes from.
    """

    def __init__(self, model: str, texts: Sequence[str], source: random.Random):
        self._model, self._texts, self._source = model, texts, source
        self._bomb = gzip.compress(b" " * 3_000_000)

    def __iter__(self) -> "Requests":
        return self

    def __next__(self) -> bytes:
        kinds = (self._document, self._near, self._broken, self._mutated, self._extreme)
        (make,) = self._source.choices(kinds, weights=(4, 8, 4, 8, 1))
        body = make()
        more = ""
        if self._source.random() < 0.1:
            body, more = self._zipped(body), "Content-Encoding: gzip\r\n"
        method = self._source.choice(("POST",) * 60 + ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"))
        path = self._source.choice(PATHS).format(self._model)
        return (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )

    def good(self) -> str:
        """A body that is right."""
        rows = self._source.sample(self._texts, self._source.randint(1, 4))
        shapes = ({"instances": rows}, {"inputs": rows}, {"inputs": {"text": rows}})
        named = {"instances": [{"text": text} for text in rows], "signature_name": "serving_default"}
        return json.dumps(self._source.choice((*shapes, named)))

    def _value(self, depth: int = 0) -> str:
        choice = self._source.random()
        if depth > 5 or choice < 0.5:
            return self._source.choice(SCALARS)
        parts = [self._value(depth + 1) for _ in range(self._source.randint(0, 4))]
        if choice < 0.75:
            return f"[{','.join(parts)}]"
        return "{" + ",".join(f"{json.dumps(self._source.choice(KEYS))}: {part}" for part in parts) + "}"

    def _document(self) -> bytes:
        """A value of JSON's grammar, not of the protocol's."""
        return self._value().encode("utf-8", "surrogatepass")

    def _near(self) -> bytes:
        """A right request with one wrong part."""
        wrong, text = self._value(3), json.dumps(self._source.choice(self._texts))
        key = json.dumps(self._source.choice(KEYS))
        shapes = (
            f'{{"instances": {wrong}}}',
            f'{{"inputs": {wrong}}}',
            f'{{"instances": [{text}, {wrong}]}}',
            f'{{"instances": [{{"text": {wrong}}}]}}',
            f'{{"instances": [{{"text": {text}, {key}: {wrong}}}, {{"text": {text}}}]}}',
            f'{{"inputs": {{"text": {wrong}, {key}: {wrong}}}}}',
            f'{{"signature_name": {wrong}, "instances": [{text}]}}',
            f'{{{key}: {wrong}, "instances": [{text}], "instances": {wrong}}}',
            f'{{"instances": [{text}], "inputs": {wrong}}}',
            f'{{"examples": [{{"text": {wrong}}}], "context": {wrong}}}',
            f'{{"instances": [[{text}], {wrong}]}} {wrong}',
        )
        return self._source.choice(shapes).encode("utf-8", "surrogatepass")

    def _broken(self) -> bytes:
        """A right request with one token too many, or with one character too few."""
        text = self.good()
        place = self._source.randint(0, len(text))
        if self._source.random() < 0.5:
            return (text[:place] + self._source.choice(TOKENS) + text[place:]).encode()
        return (text[:place] + text[place + 1 :]).encode()

    def _mutated(self) -> bytes:
        return mutated(self.good().encode(), self._source)

    def _extreme(self) -> bytes:
        """Too deep, too long, or in another encoding."""
        depth = self._source.choice((50, 101, 1000, 100_000))
        count = self._source.choice((1000, 20_000))
        opening, closing = self._source.choice((("[", "]"), ('{"a":', "}")))
        return self._source.choice(
            (
                f'{{"instances": {opening * depth}1{closing * depth}}}'.encode(),
                f'{{"ignored": {opening * depth}1{closing * depth}, {self.good()[1:]}'.encode(),
                (opening * depth).encode(),
                f'{{"instances": [{",".join(["1"] * count)}]}}'.encode(),
                f'{{"signature_name": "{"x" * count}", "instances": ["a"]}}'.encode(),
                ("{" + ",".join(f'"k{number}": 1' for number in range(count)) + "}").encode(),
                f'{{"instances": ["{"x" * count}"]}}'.encode(),
                self.good().encode("utf-16"),
                b"\xef\xbb\xbf" + self.good().encode(),
                b'{"instances": ["\xff\xfe"]}',
                b"",
                b" " * count,
                self._source.randbytes(count % 997),
            )
        )

    def _zipped(self, body: bytes) -> bytes:
        """Compressed, and most often damaged."""
        packed = gzip.compress(body, mtime=0)  # or else the time would be in it
        return self._source.choice(
            (packed, mutated(packed, self._source), packed[:-4], packed + b"x", self._bomb, body)
        )
