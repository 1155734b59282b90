"""Who asks a model: from Python, or a file of rows; of a model in this process, or of one on a server."""
