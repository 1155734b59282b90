"""A DataFrame with true targets is evaluated like its file."""

import pandas as pd

import tfattn


def test_a_frame_and_its_file_have_the_same_metrics(finished, tmp_path, monkeypatch):
    folder, _ = finished
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(folder / "reports.csv")[:40]
    frame.to_csv("gold.csv", index=False)
    model = tfattn.load("tiny", folder=folder / "saved_models")
    by_frame = tfattn.evaluate(model, frame, output="by_frame")
    by_file = tfattn.evaluate("tiny", "gold.csv", folder=folder / "saved_models")
    assert by_frame.metrics == by_file.metrics and 0 < by_file.metrics["accuracy"] <= 1
    assert by_frame.report.is_file() and len(by_frame.predictions) == 40
