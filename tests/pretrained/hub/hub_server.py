"""A server that speaks the protocol of the Hugging Face hub on this machine, for the real client.

Repositories are in memory: commits of files, and branches. Large files are redirected to another host name, as the hub
does, and are served in ranges. A fault changes how a file is sent.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".gguf", ".h5", ".bin")


@dataclass
class Repository:
    """A repository: its commits, its branches, and the tokens that may read it."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tokens: tuple[str, ...] | None = None  # None: all may read
    gated: bool = False
    private: bool = False

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Replace the files of a branch, and return the commit."""
        digest = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.commits[digest] = dict(files)
        self.branches[branch] = digest
        return digest


class HubServer:
    """The server.

    Attributes:
        repositories: by owner and name.
        breaks: the number of bytes after which the next transfer of a file breaks, by path; each breaks once.
        replaced: the content to send in the place of a file's, by path.
        headers: further headers of answers to HEAD, by path.
        statuses: the status to answer instead of the file, by path.
        requests: the method and path of each request, and whether it had a token.
        uploads: the content of uploaded large files, by SHA-256.
    """

    def __init__(self):
        self.repositories: dict[str, Repository] = {}
        self.breaks: dict[str, int] = {}
        self.replaced: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.statuses: dict[str, int] = {}
        self.requests: list[tuple[str, str, bool]] = []
        self.ranges: list[str] = []
        self.uploads: dict[str, bytes] = {}
        self.writers = ("writer",)
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def add(self, name: str, files: Mapping[str, bytes], **options) -> Repository:
        """Add a repository with a commit."""
        self.repositories[name] = Repository(**options)
        self.repositories[name].commit(files)
        return self.repositories[name]

    def paths(self, method: str = "GET") -> list[str]:
        """The files that were asked for with a method."""
        return [path.partition("/resolve/")[2].partition("/")[2] for one, path, _ in self.requests if one == method]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def git_sha1(content: bytes) -> str:
    """Return the checksum of a file in git."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        pass

    def do_HEAD(self) -> None:
        self._get()

    def do_GET(self) -> None:
        self._get()

    def _get(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append((self.command, path, self._token is not None))
        if path.startswith("/cdn/"):
            self._send_large(path.removeprefix("/cdn/"))
        elif path.startswith("/api/models/"):
            self._answer_api(path.removeprefix("/api/models/"))
        elif "/resolve/" in path:
            name, _, rest = path.removeprefix("/").partition("/resolve/")
            self._resolve(name, *rest.partition("/")[::2])
        else:
            self._fail(404, "RepoNotFound")

    def _answer_api(self, rest: str) -> None:
        owner, name, *others = rest.split("/")
        repository = self._repository(f"{owner}/{name}")
        if repository is None:
            return
        kind, revision = (others[0], "/".join(others[1:])) if others else ("revision", "main")
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            self._fail(404, "RevisionNotFound")
        elif kind == "revision":
            siblings = [{"rfilename": path} for path in repository.commits[commit]]
            facts = {"id": f"{owner}/{name}", "sha": commit, "gated": repository.gated, "siblings": siblings}
            self._send_json({**facts, "private": repository.private, "tags": []})
        elif kind == "tree":
            self._send_json([_entry(path, content) for path, content in repository.commits[commit].items()])

    def _resolve(self, name: str, revision: str, path: str) -> None:
        repository = self._repository(name, content=True)
        if repository is None:
            return
        commit = repository.branches.get(revision, revision)
        content = repository.commits.get(commit, {}).get(path)
        if path in self.hub.statuses:
            self._fail(self.hub.statuses[path], "")
        elif content is None:
            self._fail(404, "EntryNotFound" if commit in repository.commits else "RevisionNotFound")
        elif path.endswith(LARGE):
            digest = hashlib.sha256(content).hexdigest()
            headers = {
                "Location": f"http://localhost:{self.hub.port}/cdn/{name}/{commit}/{path}",
                "X-Repo-Commit": commit,
                "X-Linked-ETag": f'"{digest}"',
                "X-Linked-Size": str(len(content)),
                "ETag": '"of the redirect"',
            }
            self._send(302, b"", headers | self.hub.headers.get(path, {}))
        else:
            body = self.hub.replaced.get(path, content)
            headers = {"X-Repo-Commit": commit, "ETag": f'"{git_sha1(content)}"'}
            self._send(200, body, headers | self.hub.headers.get(path, {}))

    def _send_large(self, rest: str) -> None:
        owner, name, commit, *parts = rest.split("/")
        path = "/".join(parts)
        content = self.hub.repositories[f"{owner}/{name}"].commits[commit][path]
        content = self.hub.replaced.get(path, content)
        start = 0
        if given := self.headers.get("Range"):
            self.hub.ranges.append(given)
            start = int(given.removeprefix("bytes=").partition("-")[0])
        if start >= len(content):
            self._fail(416, "")
            return
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        end = self.hub.breaks.pop(path, None)
        self.wfile.write(body[:end])
        if end is not None:
            self.close_connection = True
            self.wfile.flush()

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(("POST", path, self._token is not None))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self._token not in self.hub.writers:
            self._fail(403 if self._token else 401, "")
        elif path == "/api/repos/create":
            given = json.loads(body)
            name = f"{given['organization'] or 'me'}/{given['name']}"
            if name in self.hub.repositories:
                self._send(409, json.dumps({"url": f"{self.hub.address}/{name}"}).encode(), {})
                return
            self.hub.add(name, {}, private=given.get("visibility") == "private")
            self._send_json({"url": f"{self.hub.address}/{name}", "name": name})
        elif "/preupload/" in path:
            files = json.loads(body)["files"]
            modes = [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if one["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for one in files
            ]
            self._send_json({"files": modes})
        elif path.endswith("/info/lfs/objects/batch"):
            objects = [
                {
                    "oid": one["oid"],
                    "size": one["size"],
                    "actions": {"upload": {"href": f"{self.hub.address}/lfs/{one['oid']}"}},
                }
                for one in json.loads(body)["objects"]
            ]
            self._send_json({"transfer": "basic", "objects": objects})
        elif path == "/api/validate-yaml":
            self._send_json({"errors": [], "warnings": []})
        elif "/commit/" in path:
            self._commit(path, body)
        else:
            self._fail(404, "")

    def do_PUT(self) -> None:
        oid = self.path.rpartition("/")[2]
        self.hub.uploads[oid] = self.rfile.read(int(self.headers["Content-Length"]))
        self._send(200, b"", {})

    def _commit(self, path: str, body: bytes) -> None:
        name, _, revision = path.removeprefix("/api/models/").partition("/commit/")
        repository = self.hub.repositories[name]
        files = dict(repository.commits.get(repository.branches.get(revision, ""), {}))
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.hub.uploads[value["oid"]]
        commit = repository.commit(files, revision)
        facts = {"commitUrl": f"{self.hub.address}/{name}/commit/{commit}", "commitOid": commit}
        self._send_json({"success": True, "hookOutput": "", **facts})

    def _repository(self, name: str, *, content: bool = False) -> Repository | None:
        """Return the repository if it may be read, or answer as the hub does; facts of gated models are public."""
        found = self.hub.repositories.get(name)
        is_hidden = found is not None and found.tokens is not None and self._token not in found.tokens
        if self._token == "expired":
            message = {"X-Error-Message": "Invalid credentials in Authorization header"}
            self._send(401, b"", message)
        elif found is None or (is_hidden and not found.gated):
            self._fail(401 if self._token is None else 404, "RepoNotFound")
        elif is_hidden and content:
            self._fail(403 if self._token else 401, "GatedRepo")
        else:
            return found
        return None

    @property
    def _token(self) -> str | None:
        given = self.headers.get("Authorization")
        return given.removeprefix("Bearer ") if given else None

    def _fail(self, status: int, code: str) -> None:
        self._send(status, b"", {"X-Error-Code": code} if code else {})

    def _send_json(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _entry(path: str, content: bytes) -> dict[str, object]:
    entry = {"type": "file", "path": path, "size": len(content), "oid": git_sha1(content)}
    if path.endswith(LARGE):
        digest = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 134}
    return entry
