"""Where the results of a pipeline stand, what they are made of, and which of its stages are done.

    runs/<name>/prepared/<id>/    what `prepare` wrote; one for each source, split and preprocessing
    runs/<name>/<id>/             one run: its configuration, checkpoints, metrics, plots, report; one for each setting
    runs/<name>/<id>/members/<id> the training of each model of an ensemble
    runs/<name>/latest            points at the newest run

Ids follow from the configuration, from the content of the files that are read and from the code of plugins
(`identity`), so the same file run again finds its own results, and another setting, or a file that has changed, never
overwrites them.
"""
