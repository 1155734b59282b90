"""The page for browsers at /: its files and its data."""
