"""Trained models: ensembles with their best weights, and their predictions for splits and sample inputs."""
