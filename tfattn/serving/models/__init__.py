"""The models on disk, and the versions of them that are served."""
