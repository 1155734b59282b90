"""The built-in server compared with a plain server, and during version changes."""
