"""File formats for training and prediction: kinds, encodings, delimiters, values, limits and chat templates."""
