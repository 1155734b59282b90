"""Small data sets of every kind, written to the current folder; each function returns the paths for `tfattn init`."""

import csv
import json
import struct
import tarfile
import zlib
from pathlib import Path

WORDS = ("the pump", "a valve", "the scanner", "an old sorter", "the belt", "this robot")


def text(number: int) -> str:
    return f"{WORDS[number % 6]} number {number} leaks water on the floor"


def table(path: str, rows, *, delimiter: str = ",", encoding: str = "utf-8") -> str:
    with open(path, "w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def png(value: int) -> bytes:
    """A gray image of 8 x 8 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes([value]) * 24) * 8)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def churn() -> list[str]:
    rows = [("customerID", "tenure", "charges", "contract", "joined", "Churn")]
    rows += [
        (
            f"{n:04}-AB",
            n % 70,
            " " if n % 50 == 0 else f"{n % 90}.35",
            ("month", "year")[n % 2],
            "2024-01-02",
            "yn"[n % 3 == 0],
        )
        for n in range(300)
    ]
    return [table("churn.csv", rows)]


def housing() -> list[str]:
    return [table("housing.csv", [(f"{n * 7 % 100}.5", n % 3, f"{n * n % 97}.25") for n in range(200)])]


def titles() -> list[str]:
    rows = [("标题", "类别"), *((f"中国经济增长第{n}季度的情况", ("财经", "体育", "房产")[n % 3]) for n in range(90))]
    return [table("titles.csv", rows, delimiter=";", encoding="utf-8-sig")]


def pairs() -> list[str]:
    rows = [
        ("pair_ID", "sentence_A", "sentence_B", "score"),
        *((n + 1, text(n), text(n + 7), f"{n % 50 / 10}") for n in range(90)),
    ]
    return [table("pairs.tsv", rows, delimiter="\t")]


def images() -> list[str]:
    for name in ("dark", "light"):
        Path("pictures", name).mkdir(parents=True)
        for number in range(12):
            Path("pictures", name, f"{number}.png").write_bytes(png(number * 5 + 150 * (name == "light")))
    return ["pictures"]


def archive() -> list[str]:
    images()
    with tarfile.open("digits.tar.gz", "w:gz") as file:
        for folder in ("train", "test"):
            file.add("pictures/dark", f"digits/{folder}/1")
            file.add("pictures/light", f"digits/{folder}/2")
    return ["digits.tar.gz"]


def lines_of_json() -> list[str]:
    Path("rows.json").write_text(Path(labels()[0]).read_text())
    return ["rows.json"]


def parallel() -> list[str]:
    Path("train.en").write_text("".join(text(n) + "\n" for n in range(200)))
    Path("train.de").write_text("".join(f"die Pumpe {n} verliert Wasser\n" for n in range(200)))
    return ["train.en", "train.de"]


def chats() -> list[str]:
    messages = [[{"role": "user", "content": text(n)}, {"role": "assistant", "content": "Leak"}] for n in range(24)]
    Path("chats.jsonl").write_text("".join(json.dumps({"messages": each}) + "\n" for each in messages))
    return ["chats.jsonl"]


def sharegpt() -> list[str]:
    chats = [[{"from": "human", "value": text(n)}, {"from": "gpt", "value": "Leak"}] for n in range(24)]
    Path("sharegpt.jsonl").write_text(
        "".join(json.dumps({"id": n, "conversations": c}) + "\n" for n, c in enumerate(chats))
    )
    return ["sharegpt.jsonl"]


def alpaca() -> list[str]:
    rows = [{"instruction": text(n), "input": "", "output": f"The {text(n)} leaks."} for n in range(24)]
    Path("alpaca.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["alpaca.jsonl"]


def entities() -> list[str]:
    sentence = "Paris B-LOC\nis O\nnice O\nfor O\nAnn B-PER\nLee I-PER\n\n"
    Path("entities.txt").write_text(sentence * 60)
    return ["entities.txt"]


def questions() -> list[str]:
    qas = [
        {"question": "What leaks?", "id": str(n), "answers": [{"text": "the pump", "answer_start": 0}]}
        for n in range(3)
    ]
    articles = [{"title": f"t{n}", "paragraphs": [{"context": f"the pump {n} leaks", "qas": qas}]} for n in range(20)]
    Path("squad.json").write_text(json.dumps({"version": "1.1", "data": articles}))
    return ["squad.json"]


def labels() -> list[str]:
    rows = [{"text": text(n), "labels": ["a", "bc"[n % 2]]} for n in range(60)]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["labels.jsonl"]


def parquet() -> list[str]:
    import pandas

    rows = {"text": [text(n) for n in range(60)], "label": ["ab"[n % 2] for n in range(60)]}
    pandas.DataFrame(rows).to_parquet("rows.parquet")
    return ["rows.parquet"]


def excel() -> list[str]:
    import pandas

    pandas.read_parquet(parquet()[0]).to_excel("rows.xlsx", index=False)
    return ["rows.xlsx"]
