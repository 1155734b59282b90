"""Runs of a pipeline: their folders, ids and stage logs.

    runs/<name>/prepared/<id>/    prepared data; one folder for each source, split and preprocessing
    runs/<name>/<id>/             a run: configuration, checkpoints, metrics, plots, report; one folder for each setting
    runs/<name>/<id>/members/<id> the training of each model of an ensemble
    runs/<name>/latest            a link to the newest run

Ids are digests of the configuration, the content of all input files and the code of plugins (`identity.py`). The same
pipeline finds its results again; other settings or changed files never overwrite them.
"""
