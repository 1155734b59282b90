"""What an export may not contain is found wherever it hides."""

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfattn.errors import ExportError
from tfattn.export.operations import operations

ROW = tf.TensorSpec([None], tf.float32, name="x")


def save(folder, function, **attributes):
    module = tf.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    tf.saved_model.save(module, str(folder), signatures=tf.function(function, input_signature=[ROW]))
    return folder


def test_what_computes_is_listed(tmp_path):
    weight = tf.Variable(2.0)
    found = operations(save(tmp_path, lambda x: {"y": tf.math.erfc(x) * weight}, weight=weight))
    assert {"Erfc", "Mul", "ReadVariableOp", "SaveV2", "RestoreV2"} <= set(found)
    assert not [name for name in found if name.startswith("__inference")]


def test_python_code_is_refused(tmp_path):
    folder = save(tmp_path, lambda x: {"y": tf.ensure_shape(tf.py_function(lambda a: a + 1, [x], tf.float32), [None])})
    with pytest.raises(ExportError, match="EagerPyFunc, which runs Python code"):
        operations(folder)


def test_python_code_is_refused_inside_a_branch_of_a_loop(tmp_path):
    def nested(x):
        def body(x):
            return (tf.cond(x[0] > 0, lambda: tf.numpy_function(lambda a: a - 1, [x], tf.float32), lambda: x),)

        return {
            "y": tf.while_loop(lambda x: tf.reduce_sum(x) > 0, body, (x,), shape_invariants=(tf.TensorShape(None),))[0]
        }

    with pytest.raises(ExportError, match="PyFunc, which runs Python code") as caught:
        operations(save(tmp_path, nested))
    assert "the main graph" not in caught.value.where


def test_files_are_not_read_or_written_while_answering(tmp_path):
    def reading(x):
        return {"y": tf.strings.length(tf.io.read_file("/etc/hostname")) + tf.cast(x, tf.int32)}

    def writing(x):
        with tf.control_dependencies([tf.io.write_file("/tmp/never", "x")]):
            return {"y": x + 1.0}

    def printing(x):
        tf.print(x, output_stream="file:///tmp/never")
        return {"y": x + 1.0}

    with pytest.raises(ExportError, match="ReadFile, which reads files"):
        operations(save(tmp_path / "reading", reading))
    with pytest.raises(ExportError, match="WriteFile, which writes files"):
        operations(save(tmp_path / "writing", writing))
    with pytest.raises(ExportError, match="PrintV2, which writes files"):
        operations(save(tmp_path / "printing", printing))


def test_the_initialiser_may_read_an_asset(tmp_path):
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

    with pytest.raises(ExportError, match="Dataset.*which runs a graph that is stored as data"):
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

    with pytest.raises(ExportError, match="wrapped in the main graph.*Const, which holds an object"):
        operations(_edited(save(tmp_path, lambda x: {"y": x + 1.0}), edit))


def test_an_operation_named_in_place_of_a_function_is_found(tmp_path):
    def edit(graph):
        node = graph.node.add(name="call", op="PartitionedCall")
        inner = node.attr["f"].func.attr["body"].list.func.add()
        inner.name = "WriteFile"

    with pytest.raises(ExportError, match="call in the main graph.*WriteFile"):
        operations(_edited(save(tmp_path, lambda x: {"y": x + 1.0}), edit))
