"""tfattn: attention models on TensorFlow and Keras, from raw data to a served model."""

__version__ = "0.1.0"
