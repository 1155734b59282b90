"""Engines: run the work of a preparation in processes or on Beam."""
