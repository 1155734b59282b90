"""The folders of a pipeline's runs, the identity of each, and the records of its stages.

    runs/<name>/prepared/<id>/    what `prepare` wrote; one for each source, split and preprocessing
    runs/<name>/<id>/             one run: its configuration, checkpoints, metrics, plots, report; one for each setting
    runs/<name>/<id>/members/<id> the training of each model of an ensemble
    runs/<name>/latest            points at the newest run

Ids are digests of the configuration, of the content of the files that are read and of the code of plugins (`identity`):
so the same pipeline run again finds its own results, and another setting, or a file that has changed, never overwrites
them.
"""
