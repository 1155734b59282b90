"""File formats, for training and for predictions alike: kinds, encodings, delimiters, values, limits, chats."""
