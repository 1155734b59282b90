"""The data folder that pipelines/ read, made of the public data sets."""

import csv
import tarfile
from pathlib import Path

# Files of pipelines and where they are among the public data sets.
LINKS = {
    "adult.csv": "tabular/adult/adult-train.csv",
    "chnsenticorp": "chinese/chnsenticorp",
    "cifar10": "cifar10_jpeg",
    "cmrc2018": "chinese/cmrc2018",
    "conll2003": "conll2003",
    "CoLA": "glue/CoLA",
    "german_credit.csv": "tabular/german_credit/train.csv",
    "MRPC": "glue/MRPC",
    "multi30k": "multi30k",
    "ocnli": "nli/ocnli",
    "peopledaily_ner": "chinese/peopledaily_ner",
    "phoneme.csv": "tabular/phoneme/train.csv",
    "ptb": "ptb",
    "QNLI": "glue/QNLI",
    "RTE": "glue/RTE",
    "SICK": "nli/sick",
    "squad": "squad",
    "STS-B": "glue/STS-B",
    "telco_churn.csv": "tabular/telco_churn/train.csv",
    "thucnews_titles": "chinese/thucnews_titles",
    "tinyshakespeare": "tinyshakespeare",
    "wikidump": "wikidump",
    "word2vec": "word2vec",
}
# Data sets that are not public here: the columns of the files, and two rows of different classes.
WRITTEN = {
    ("MNLI/train.tsv", "MNLI/dev_matched.tsv", "MNLI/dev_mismatched.tsv"): (
        ["sentence1", "sentence2", "gold_label"],
        ["The pump {} leaks.", "A pump is broken.", "entailment"],
        ["The pump {} leaks.", "The pump is new.", "neutral"],
    ),
    ("QQP/train.tsv", "QQP/dev.tsv"): (
        ["question1", "question2", "is_duplicate"],
        ["Why does pump {} leak?", "What makes a pump leak?", "1"],
        ["Why does pump {} leak?", "Who made the pump?", "0"],
    ),
    ("WNLI/train.tsv", "WNLI/dev.tsv"): (
        ["sentence1", "sentence2", "label"],
        ["Pump {} fills the tank until it is full.", "The tank is full.", "1"],
        ["Pump {} fills the tank until it is full.", "The pump is full.", "0"],
    ),
    ("swag/train.csv", "swag/val.csv"): (
        ["sent1", "sent2", "ending0", "ending1", "ending2", "ending3", "label"],
        ["Worker {} opens the valve.", "The water", "flows.", "sings.", "reads.", "sleeps.", "0"],
        ["Worker {} opens the valve.", "The worker", "melts.", "rains.", "waits.", "rusts.", "2"],
    ),
    ("SST-2/sentences.tsv", "SST-2/whole_sentences.tsv", "SST-2/validation.tsv"): (
        ["sentence", "label", "part"],
        ["pump {} works very well", "1", "train"],
        ["pump {} leaks again", "0", "train"],
        ["pump {} is loud", "0", "test"],
        ["pump {} is quiet", "1", "test"],
    ),
}
ROWS = 64


def write(folder: Path, public: Path) -> None:
    """Link and write the files that pipelines/ read into a folder `data`.

    Args:
        folder: the folder, created.
        public: the folder of public data sets.
    """
    folder.mkdir()
    for name, origin in LINKS.items():
        (folder / name).symlink_to(public / origin)
    for name in ("SST-2",):
        (folder / name).mkdir()
        for file in (public / "glue" / name).iterdir():
            (folder / name / file.name).symlink_to(file)
    (folder / "zhwiki_text_100").mkdir()
    with tarfile.open(public / "wikidump/zhwiki_text_100.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(".txt"):
                name = Path(member.name).name
                (folder / "zhwiki_text_100" / name).write_bytes(archive.extractfile(member).read())
    commands = (public / "scan/tasks_train_simple.txt").read_text()
    (folder / "scan.tsv").write_text(commands.replace("IN: ", "").replace(" OUT: ", "\t"))
    for names, (columns, *rows) in WRITTEN.items():
        for name in names:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            with open(path, "w", newline="") as file:
                writer = csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t")
                writer.writerow(columns)
                writer.writerows([cell.format(number) for cell in row] for number in range(ROWS) for row in rows)
