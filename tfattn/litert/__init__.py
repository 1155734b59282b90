"""LiteRT files: written from TensorFlow functions, checked, and run without TensorFlow."""

from typing import Literal

# What computes an export; "auto" is LiteRT if the export has a file that can be used.
Engine = Literal["auto", "litert", "tensorflow"]
