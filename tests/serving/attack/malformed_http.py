"""What comes over a socket and is hardly HTTP: bytes to send, after which the sender waits or leaves."""

import random
from collections.abc import Iterator

from tests.serving.attack.malformed_json import Requests
from tests.serving.attack.mutation import mutated


def streams(requests: Requests, model: str, source: random.Random) -> Iterator[bytes]:
    """An endless row of byte streams, the same for the same seed."""
    path = f"/v1/models/{model}:predict"
    while True:
        body = requests.good().encode()
        good = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n"
        yield source.choice(
            (
                mutated(good, source),
                mutated(good[: good.index(b"\r\n\r\n")], source) + good[good.index(b"\r\n\r\n") :],
                good[: source.randint(1, len(good) - 1)],
                good * 3,
                next(requests) + next(requests),
                source.randbytes(source.randint(1, 2000)),
                f"POST {path}\r\n\r\n".encode(),
                f"POST {path} HTTP/9.9\r\n\r\n".encode(),
                f"{head}Content-Length: -1\r\n\r\n".encode() + body,
                f"{head}Content-Length: {10**30}\r\n\r\n".encode() + body,
                f"{head}Content-Length: {len(body)}\r\nContent-Length: 3\r\n\r\n".encode() + body,
                f"{head}Content-Length: x\r\n\r\n".encode() + body,
                f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + body,
                f"{chunked}{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n",
                f"{chunked}zz\r\n".encode() + body,
                f"{chunked}{'f' * 40}\r\n".encode() + body,
                f"{chunked}{len(body):x}\r\n".encode() + body + b"no end",
                f"{head}X: {'x' * source.choice((100, 100_000))}\r\n\r\n".encode(),
                f"{head}{''.join(f'X{number}: 1{chr(13)}{chr(10)}' for number in range(2000))}\r\n".encode(),
                f"GET /{'a' * source.choice((100, 100_000))} HTTP/1.1\r\n\r\n".encode(),
                f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body,
                f"{head}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n".encode(),
                f"{head}Content-Encoding: br\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body,
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + source.randbytes(500),
                b"GET\x00/ HTTP/1.1\r\n\r\n",
                b"\r\n" * source.choice((1, 10_000)),
            )
        )


def http2(source: random.Random) -> bytes:
    """The beginning of an HTTP/2 connection, or not even that, and frames of any kind."""
    payloads = [source.randbytes(source.randint(0, 60)) for _ in range(source.randint(0, 5))]
    frames = b"".join(len(payload).to_bytes(3, "big") + source.randbytes(6) + payload for payload in payloads)
    return source.choice((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"")) + frames
