"""Configuration: reads YAML, validates it against the signatures of classes, and builds the objects."""
