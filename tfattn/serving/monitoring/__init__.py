"""The server's log, and its metrics for Prometheus."""
