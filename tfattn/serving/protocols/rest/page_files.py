"""The page at /, from memory."""

from importlib import resources

from tfattn.serving.protocols.rest.answer import Answer

_CONTENT_TYPES = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
)


def page_files() -> dict[bytes, Answer]:
    """The page's files by their paths."""
    answers = {}
    for file in resources.files("tfattn.serving").joinpath("page").iterdir():
        kind = _CONTENT_TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            path = b"/" if file.name == "index.html" else f"/{file.name}".encode()
            answers[path] = Answer(200, file.read_bytes(), kind, _HEADERS)
    return answers
