"""From a file that the project has never seen to predictions, without editing the pipeline."""

import json

import pytest

from tests.recipes.data_files import churn, titles

NEW_ROWS = {
    churn: ("customerID,tenure,charges,contract,joined\n9999-ZZ,3,70.1,month,2024-05-06\n", {"y", "n"}),
    titles: ("标题\n中国经济增长第三季度的情况\n", {"财经", "体育", "房产"}),
}


@pytest.mark.parametrize("write", [churn, pytest.param(titles, marks=pytest.mark.slow)], ids=["churn", "titles"])
def test_a_new_file_becomes_predictions(command, tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    pipeline = command("init", *write()).output.strip()
    answer = command("run", pipeline, "--set", "training.epochs=1")
    assert answer.status == 0, answer.errors
    rows, labels = NEW_ROWS[write]
    (tmp_path / "new.csv").write_text(rows.replace(",", ";") if write is titles else rows, encoding="utf-8")
    answer = command("predict", pipeline.removesuffix(".yaml"), "--input", "new.csv")
    assert answer.status == 0, answer.errors
    [prediction] = map(json.loads, answer.output.splitlines())
    assert prediction["label"] in labels
    if write is churn:
        assert prediction["id"] == "9999-ZZ"
