"""YAML in, checked values and built objects out: types, reader, schema, builder."""
