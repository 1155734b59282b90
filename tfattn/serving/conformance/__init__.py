"""Checks, run from outside against any server, of what one compatible with TF Serving must answer."""
