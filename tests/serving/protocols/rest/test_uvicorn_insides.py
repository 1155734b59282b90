"""What is relied on of uvicorn's insides: all of it is named, and a release that lacks some of it is refused."""

import ast
import inspect

import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tfattn.errors import ServingError
from tfattn.serving.protocols.rest import http, server, uvicorn_insides
from tfattn.serving.protocols.rest.uvicorn_insides import INSIDES


def test_the_installed_release_has_all_of_them():
    uvicorn_insides.check()


def test_a_release_that_lacks_one_is_refused_by_its_name(monkeypatch):
    monkeypatch.delattr(HttpToolsProtocol, "on_header")
    monkeypatch.setitem(INSIDES, RequestResponseCycle, INSIDES[RequestResponseCycle] | {"state"})
    message = f"lacks HttpToolsProtocol.on_header, RequestResponseCycle.state: .*received uvicorn {uvicorn.__version__}"
    with pytest.raises(ServingError, match=message):
        uvicorn_insides.check()


def used(module, path: str) -> set[str]:
    """The attributes of `path`, such as `self.cycle`, in a module."""
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
def test_all_that_is_relied_on_is_named(kind, module, paths, ours):
    relied_on = set(vars(ours) if ours else ()).union(*(used(module, path) for path in paths))
    assert relied_on & uvicorn_insides.attributes(kind) - set(dir(object)) - {"__module__"} == INSIDES[kind]
