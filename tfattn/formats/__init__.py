"""How rows stand in a file, for training and for predictions alike: kinds, encodings, delimiters, values, limits."""
