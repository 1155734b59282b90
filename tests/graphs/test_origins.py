"""The origin of a tensor is exact, or unknown."""

import pytest
from google.protobuf import text_format
from tensorflow.core.framework import graph_pb2

from tfattn.graphs.graph import MAIN, Graph
from tfattn.graphs.origins import Origins

# A path goes through two functions to `reader`; `kept` holds it as a variable of text.
GRAPH = """
node { name: "path" op: "Placeholder" }
node { name: "same" op: "Identity" input: "path:0" input: "^other" }
node { name: "other" op: "Const" }
node {
  name: "call" op: "PartitionedCall" input: "other" input: "same"
  attr { key: "f" value { func { name: "outer" } } }
}
node {
  name: "kept" op: "VarHandleOp"
  attr { key: "shared_name" value { s: "kept" } }
}
node {
  name: "assign" op: "AssignVariableOp" input: "kept" input: "path"
  attr { key: "dtype" value { type: DT_STRING } }
}
node { name: "read" op: "ReadVariableOp" input: "kept" input: "^assign" }
library {
  function {
    signature { name: "outer" input_arg { name: "x" } input_arg { name: "y" } }
    node_def { name: "call" op: "inner" input: "y" input: "^x" }
  }
  function {
    signature { name: "inner" input_arg { name: "z" } }
    node_def { name: "mine" op: "Const" }
    node_def { name: "reader" op: "ReadFile" input: "z" }
  }
}
"""


def origins(place: str, tensor: str, more: str = "", text: str = GRAPH):
    graph = text_format.Parse(text, graph_pb2.GraphDef())
    graph.MergeFrom(text_format.Parse(more, graph_pb2.GraphDef()))
    return Origins(Graph(graph)).find(place, tensor)


def test_through_identities_functions_and_variables():
    assert origins(MAIN, "path:0") == {"path"}
    assert origins(MAIN, "same") == {"path"}
    assert origins("inner", "z") == {"path"}
    assert origins("outer", "x") == {"other"}
    assert origins(MAIN, "read:0") == {"path"}
    assert origins("inner", "mine:output:0") == {None}
    assert origins(MAIN, "nothing") == {"nothing"}


def test_every_call_counts():
    again = """node { name: "again" op: "inner" input: "other" }"""
    assert origins("inner", "z", again) == {"path", "other"}


@pytest.mark.parametrize(
    "more",
    [
        """node { name: "map" op: "MapDefun" attr { key: "f" value { func { name: "inner" } } } }""",
        """node { name: "short" op: "inner" }""",
        """
        node {
          name: "nested" op: "PartitionedCall" input: "path"
          attr { key: "f" value { func { name: "a" attr { key: "g" value { func { name: "inner" } } } } } }
        }
        """,
    ],
)
def test_other_calls_of_a_function_make_origins_unknown(more):
    assert origins("inner", "z", more) == {None}


def test_replaceable_functions_make_origins_unknown():
    swapped = GRAPH.replace(
        'signature { name: "outer"', 'attr { key: "api_implements" value { s: "a" } } signature { name: "outer"'
    )
    assert origins("inner", "z", text=swapped) == {None}


SHARING = """
node { name: "shares" op: "VarHandleOp" attr { key: "shared_name" value { s: "SHARED" } } }
node { name: "writes" op: "WRITES" input: "shares" input: "other" attr { key: "dtype" value { type: DT_STRING } } }
"""


@pytest.mark.parametrize(
    ("shared", "operation", "expected"),
    [
        ("kept", "AssignVariableOp", {"path", "other"}),
        ("kept", "ResourceScatterUpdate", {"read"}),
        ("another", "AssignVariableOp", {"path"}),
    ],
)
def test_all_assignments_of_a_variable_count(shared, operation, expected):
    assert origins(MAIN, "read", SHARING.replace("SHARED", shared).replace("WRITES", operation)) == expected


ASSIGNING_IN_A_LOOP = """
node { name: "loop" op: "While" attr { key: "body" value { func { name: "body" } } } }
library {
  function {
    signature { name: "body" input_arg { name: "handle" } input_arg { name: "value" } }
    node_def {
      name: "assign" op: "AssignVariableOp" input: "handle" input: "value"
      attr { key: "dtype" value { type: DT_STRING } }
    }
  }
}
"""


def test_an_unknown_variable_may_be_any_variable():
    assert None in origins(MAIN, "read", ASSIGNING_IN_A_LOOP)


def test_cycles_terminate():
    circle = """
    node { name: "a" op: "Identity" input: "b" }
    node { name: "b" op: "Identity" input: "a" }
    """
    assert origins(MAIN, "a", circle) == set()
