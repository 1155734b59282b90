"""Configuration files for model servers."""

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from tfattn.export import serving_config


def test_every_model_with_a_version_is_listed(tmp_path):
    for folder in ("beta/3", "alpha/00012", "empty", "not_a_model/latest", ".hidden.x/was"):
        (tmp_path / folder).mkdir(parents=True)
    serving_config.write(tmp_path, served_from="/models")
    text = (tmp_path / "models.config").read_text()
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    listed = [(one.name, one.base_path, one.model_platform) for one in config.model_config_list.config]
    assert listed == [("alpha", "/models/alpha", "tensorflow"), ("beta", "/models/beta", "tensorflow")]
    serving_config.write(tmp_path, served_from="/models")
    assert (tmp_path / "models.config").read_text() == text


def test_existing_batching_parameters_are_kept(tmp_path):
    serving_config.write(tmp_path, served_from="/models")
    path = tmp_path / "batching_parameters.txt"
    assert "max_batch_size { value: 32 }" in path.read_text()
    path.write_text("max_batch_size { value: 8 }\n")
    serving_config.write(tmp_path, served_from="/models")
    assert path.read_text() == "max_batch_size { value: 8 }\n"


def test_an_export_lists_itself(exported):
    assert 'base_path: "/models/reports"' in (exported.parent.parent / "models.config").read_text()
