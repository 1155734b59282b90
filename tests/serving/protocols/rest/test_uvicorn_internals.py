"""All used internals of uvicorn are listed, and a release without one of them is refused."""

import ast
import inspect

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tfattn.errors import ServingError
from tfattn.serving.protocols.rest import http, server, uvicorn_internals
from tfattn.serving.protocols.rest.uvicorn_internals import INTERNALS


def test_the_installed_release_has_all_internals():
    uvicorn_internals.check()


def test_a_release_without_an_internal_is_refused(monkeypatch):
    monkeypatch.delattr(HttpToolsProtocol, "on_header")
    monkeypatch.setitem(INTERNALS, RequestResponseCycle, INTERNALS[RequestResponseCycle] | {"state"})
    message = f"lacks HttpToolsProtocol.on_header, RequestResponseCycle.state: .*received uvicorn {uvicorn.__version__}"
    with pytest.raises(ServingError, match=message):
        uvicorn_internals.check()


def used(module, path: str) -> set[str]:
    """Return the attributes of `path`, such as `self.cycle`, that a module uses."""
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == path}


@pytest.mark.parametrize(
    ("kind", "module", "paths", "ours"),
    [
        (HttpToolsProtocol, http, ["self", "super()"], http.HttpProtocol),
        (RequestResponseCycle, http, ["self.cycle"], None),
        (uvicorn.Server, server, ["self"], server.RestServer),
        (ServerState, server, ["self.server_state"], None),
    ],
)
def test_all_used_internals_are_listed(kind, module, paths, ours):
    attributes = set(vars(ours) if ours else ()).union(*(used(module, path) for path in paths))
    assert attributes & uvicorn_internals.attributes(kind) - set(dir(object)) - {"__module__"} == INTERNALS[kind]
