"""A server that speaks the part of Kaggle's protocol that downloads models, for the real client kagglehub."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit


class KaggleServer:
    """The server.

    Attributes:
        models: the versions of each model, by handle: the files of each version, by path.
        private: the handles that need the token `mine`.
        breaks: the number of bytes after which the next transfer of a file breaks, by path; each breaks once.
        replaced: the content to send in the place of a file's, by path.
        requests: the name of each request, and the path of the file.
        ranges: the ranges that were asked for.
    """

    def __init__(self):
        self.models: dict[str, dict[int, dict[str, bytes]]] = {}
        self.private: set[str] = set()
        self.breaks: dict[str, int] = {}
        self.replaced: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.ranges: list[str] = []
        handler = type("Handler", (_Handler,), {"kaggle": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    kaggle: KaggleServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        pass

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.rpartition("/")[2]
        handle = f"{given['ownerSlug']}/{given['modelSlug']}/keras/{given['instanceSlug']}"
        self.kaggle.requests.append((name, given.get("path", "")))
        versions = self.kaggle.models.get(handle)
        if handle in self.kaggle.private and self.headers.get("Authorization") != "Bearer mine":
            self._fail(403)
        elif versions is None:
            self._fail(404)
        elif name == "GetModelInstance":
            self._send(200, json.dumps({"versionNumber": max(versions)}).encode(), {"Content-Type": "application/json"})
        elif given["path"] not in versions.get(given["versionNumber"], {}):
            self._fail(404)
        else:
            location = f"{self.kaggle.address}/files/{handle}/{given['versionNumber']}/{given['path']}"
            self._send(302, b"", {"Location": location})

    def do_GET(self) -> None:
        owner, model, framework, variation, version, *parts = unquote(urlsplit(self.path).path).split("/")[2:]
        path = "/".join(parts)
        content = self.kaggle.models[f"{owner}/{model}/{framework}/{variation}"][int(version)][path]
        checksum = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
        content = self.kaggle.replaced.get(path, content)
        start = 0
        if given := self.headers.get("Range"):
            self.kaggle.ranges.append(given)
            start = int(given.removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("x-goog-hash", f"crc32c=AAAAAA==,md5={checksum}")
        self.end_headers()
        end = self.kaggle.breaks.pop(path, None)
        self.wfile.write(content[start:][:end])
        if end is not None:
            self.wfile.flush()
            self.close_connection = True

    def _fail(self, status: int) -> None:
        body = json.dumps({"code": status, "message": "no"}).encode()
        self._send(status, body, {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
