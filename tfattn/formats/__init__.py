"""File formats, for training and for predictions alike: kinds of files, encodings, delimiters, values, limits."""
