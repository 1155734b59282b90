"""Denied operations are found anywhere in a SavedModel."""

import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.saved_model.loader_impl import parse_saved_model

from tfattn.errors import SavedModelError
from tfattn.graphs.operations import check

ROW = tf.TensorSpec([None], tf.float32, name="x")


def save(folder, function, **attributes):
    module = tf.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    tf.saved_model.save(module, str(folder), signatures=tf.function(function, input_signature=[ROW], autograph=False))
    return folder


def operations(folder, allowed=()):
    (meta_graph,) = parse_saved_model(str(folder)).meta_graphs
    return check(meta_graph, allowed=allowed, remedy="Allow {names}.")


def test_allowed_operations_are_listed(tmp_path):
    weight = tf.Variable(2.0)
    found = operations(save(tmp_path, lambda x: {"y": tf.math.erfc(x) * weight}, weight=weight))
    assert {"Erfc", "Mul", "ReadVariableOp", "SaveV2", "RestoreV2"} <= set(found)
    assert not [name for name in found if name.startswith("__inference")]


def test_python_code_is_refused(tmp_path):
    folder = save(tmp_path, lambda x: {"y": tf.ensure_shape(tf.py_function(lambda a: a + 1, [x], tf.float32), [None])})
    with pytest.raises(SavedModelError, match="EagerPyFunc, which runs Python code"):
        operations(folder)


def test_python_code_is_refused_inside_a_branch_of_a_loop(tmp_path):
    def nested(x):
        def body(x):
            return (tf.cond(x[0] > 0, lambda: tf.numpy_function(lambda a: a - 1, [x], tf.float32), lambda: x),)

        return {
            "y": tf.while_loop(lambda x: tf.reduce_sum(x) > 0, body, (x,), shape_invariants=(tf.TensorShape(None),))[0]
        }

    with pytest.raises(SavedModelError, match="PyFunc, which runs Python code") as caught:
        operations(save(tmp_path, nested))
    assert "the main graph" not in caught.value.where


def test_reading_and_writing_files_is_refused(tmp_path):
    def reading(x):
        return {"y": tf.strings.length(tf.io.read_file("/etc/hostname")) + tf.cast(x, tf.int32)}

    def writing(x):
        with tf.control_dependencies([tf.io.write_file("/tmp/never", "x")]):
            return {"y": x + 1.0}

    def printing(x):
        tf.print(x, output_stream="file:///tmp/never")
        return {"y": x + 1.0}

    with pytest.raises(SavedModelError, match="ReadFile, which reads files"):
        operations(save(tmp_path / "reading", reading))
    with pytest.raises(SavedModelError, match="WriteFile, which writes files"):
        operations(save(tmp_path / "writing", writing))
    with pytest.raises(SavedModelError, match="PrintV2, which writes files"):
        operations(save(tmp_path / "printing", printing))


def test_the_initializer_may_read_an_asset(tmp_path):
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    lines = tf.lookup.TextFileInitializer(
        str(tmp_path / "vocab.txt"),
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    table = tf.lookup.StaticHashTable(lines, -1)
    found = operations(save(tmp_path / "table", lambda x: {"y": table.lookup(tf.strings.as_string(x))}, table=table))
    assert "InitializeTableFromTextFileV2" in found


def test_data_sets_are_refused(tmp_path):
    def counted(x):
        return {
            "y": tf.data.Dataset.range(3).reduce(tf.constant(0, tf.int64), lambda a, b: a + b) + tf.cast(x[0], tf.int64)
        }

    with pytest.raises(SavedModelError, match="Dataset.*which runs a graph that is stored as data"):
        operations(save(tmp_path, counted))


def _edited(folder, edit):
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    edit(saved.meta_graphs[0].graph_def)
    path.write_bytes(saved.SerializeToString())
    return folder


def test_an_object_as_a_constant_is_refused(tmp_path):
    def edit(graph):
        node = graph.node.add(name="wrapped", op="Const")
        node.attr["dtype"].type = tf.variant.as_datatype_enum
        node.attr["value"].tensor.dtype = tf.variant.as_datatype_enum

    with pytest.raises(SavedModelError, match="wrapped in the main graph.*Const, which holds an object"):
        operations(_edited(save(tmp_path, lambda x: {"y": x + 1.0}), edit))


def test_an_operation_named_in_place_of_a_function_is_found(tmp_path):
    def edit(graph):
        node = graph.node.add(name="call", op="PartitionedCall")
        inner = node.attr["f"].func.attr["body"].list.func.add()
        inner.name = "WriteFile"

    with pytest.raises(SavedModelError, match="call in the main graph.*WriteFile"):
        operations(_edited(save(tmp_path, lambda x: {"y": x + 1.0}), edit))


def computing(folder):
    return save(folder, lambda x: {"y": x + 1.0})


def graph_of(operation: str) -> bytes:
    graph = graph_pb2.GraphDef()
    graph.node.add(name="inner", op=operation)
    return graph.SerializeToString()


@pytest.mark.parametrize("form", ["string_val", "tensor_content"])
def test_graphs_in_constants_are_checked(tmp_path, form):
    """Within another one, among other texts, inside a function."""
    outer = graph_pb2.GraphDef()
    outer.node.add(name="held", op="Const").attr["value"].tensor.CopyFrom(tf.make_tensor_proto(graph_of("WriteFile")))
    texts = [b"a word", b"\n\x05other", outer.SerializeToString()]

    def edit(graph):
        function = graph.library.function.add()
        function.signature.name = "unused"
        tensor = function.node_def.add(name="texts", op="Const").attr["value"].tensor
        tensor.CopyFrom(tf.make_tensor_proto(texts))
        if form == "tensor_content":
            del tensor.string_val[:]
            tensor.tensor_content = bytes(map(len, texts)) + b"".join(texts)

    with pytest.raises(SavedModelError, match="inner in the graph in the constant held: .*WriteFile"):
        operations(_edited(computing(tmp_path), edit))


def test_strings_that_are_no_graphs_are_ignored(tmp_path):
    words = tf.constant(["", "a", "ReadFile", "\n\x0a\n\x08ReadFile", "PyFunc\x00", "graph"] * 50)
    folder = save(tmp_path, lambda x: {"y": tf.gather(words, tf.cast(x, tf.int32))})
    assert "GatherV2" in operations(folder)


def test_all_refused_operations_are_named_and_can_be_allowed(tmp_path):
    def edit(graph):
        graph.node.add(name="first", op="ReadFile")
        graph.node.add(name="again", op="ReadFile")
        graph.node.add(name="second", op="MatchingFiles")

    folder = _edited(computing(tmp_path), edit)
    with pytest.raises(SavedModelError, match="first in the main graph: .*Allow ReadFile, MatchingFiles"):
        operations(folder)
    with pytest.raises(SavedModelError, match="Allow ReadFile.$"):
        operations(folder, allowed=["MatchingFiles"])
    assert {"ReadFile", "MatchingFiles"} <= set(operations(folder, allowed=["MatchingFiles", "ReadFile"]))


@pytest.mark.parametrize("name", ["", "the main graph", "twice"])
def test_function_names_cannot_hide_operations(tmp_path, name):
    """Neither a function that is called as if it were the main graph, nor two of one name."""

    def edit(graph):
        graph.node.add(name="reads", op="ReadFile")
        for operation in ("WriteFile", "NoOp"):
            function = graph.library.function.add()
            function.signature.name = name
            function.node_def.add(name="inner", op=operation)

    with pytest.raises(SavedModelError):
        operations(_edited(computing(tmp_path), edit))


def with_table(folder):
    """A model that reads a table from an asset as it is loaded, and restores a variable."""
    (folder / "vocab.txt").write_text("a\nb\n")
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    lines = tf.lookup.TextFileInitializer(str(folder / "vocab.txt"), tf.string, whole, tf.int64, number)
    table, weight = tf.lookup.StaticHashTable(lines, -1), tf.Variable(2.0)
    return save(
        folder / "table",
        lambda x: {"y": table.lookup(tf.strings.as_string(x * weight))},
        table=table,
        weight=weight,
    )


def edited_meta_graph(folder, edit):
    path = folder / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    edit(saved.meta_graphs[0])
    path.write_bytes(saved.SerializeToString())
    return folder


def no_asset(meta_graph):
    del meta_graph.asset_file_def[:]


def another_asset(meta_graph):
    meta_graph.asset_file_def[0].tensor_info.name = "saver_filename:0"


def table_as_an_answer(meta_graph):
    initializer = meta_graph.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"]
    meta_graph.signature_def["serving_default"].outputs["more"].CopyFrom(initializer)


def a_path_that_is_computed(meta_graph):
    for function in meta_graph.graph_def.library.function:
        for node in function.node_def:
            if node.op == "InitializeTableFromTextFileV2":
                function.node_def.add(name="joined", op="StringJoin").input.append(node.input[1])
                node.input[1] = "joined:output:0"
                return


def a_call_that_is_not_seen_through(meta_graph):
    for function in meta_graph.graph_def.library.function:
        if any(node.op == "InitializeTableFromTextFileV2" for node in function.node_def):
            node = meta_graph.graph_def.node.add(name="other", op="StatelessIf")
            node.attr["then_branch"].func.name = function.signature.name


def a_function_that_is_exchanged(meta_graph):
    for function in meta_graph.graph_def.library.function:
        if any(node.op == "InitializeTableFromTextFileV2" for node in function.node_def):
            function.attr["api_implements"].s = b"another"


@pytest.mark.parametrize(
    "edit",
    [
        no_asset,
        another_asset,
        table_as_an_answer,
        a_path_that_is_computed,
        a_call_that_is_not_seen_through,
        a_function_that_is_exchanged,
    ],
)
def test_only_the_initializer_reads_assets(edit, tmp_path):
    with pytest.raises(SavedModelError, match="InitializeTableFromTextFileV2, which reads files"):
        operations(edited_meta_graph(with_table(tmp_path), edit))


def other_variables(meta_graph):
    meta_graph.saver_def.filename_tensor_name = "Const:0"


def saving_as_it_is_loaded(meta_graph):
    saves = meta_graph.saver_def.save_tensor_name.split(":")[0]
    (initializer,) = [node for node in meta_graph.graph_def.node if node.name == "NoOp"]
    initializer.input.append(f"^{saves}")


@pytest.mark.parametrize(("edit", "operation"), [(other_variables, "RestoreV2"), (saving_as_it_is_loaded, "SaveV2")])
def test_only_the_restore_operation_reads_variables(edit, operation, tmp_path):
    folder = with_table(tmp_path)
    assert "SaveV2" in operations(folder)
    with pytest.raises(SavedModelError, match=f"{operation}, which"):
        operations(edited_meta_graph(folder, edit))


def test_printing_and_unwritten_summaries_are_allowed(tmp_path):
    def edit(graph):
        graph.node.add(name="prints", op="PrintV2").attr["output_stream"].s = b"stderr"
        graph.node.add(name="counts", op="HistogramSummary")
        graph.node.add(name="parses", op="ParseTensor").attr["out_type"].type = tf.float32.as_datatype_enum

    assert {"PrintV2", "HistogramSummary", "ParseTensor"} <= set(operations(_edited(computing(tmp_path), edit)))


def test_the_check_changes_nothing(tmp_path):
    folder = computing(tmp_path)
    saved = parse_saved_model(str(folder))
    before = saved.SerializeToString(deterministic=True)
    check(saved.meta_graphs[0], remedy="")
    assert saved.SerializeToString(deterministic=True) == before
