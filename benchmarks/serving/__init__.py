"""The built-in server beside a plain one, and while versions change: `python -m benchmarks.serving COMMAND EXPORT`."""
