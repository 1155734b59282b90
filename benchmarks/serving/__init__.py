"""The built-in server under load, in trouble and under attack: `python -m benchmarks.serving COMMAND EXPORT`."""
