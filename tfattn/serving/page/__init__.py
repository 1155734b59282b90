"""The page at /: its files, and what it shows beside what the API tells."""
