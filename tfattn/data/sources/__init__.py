"""Sources: raw files read as rows."""
