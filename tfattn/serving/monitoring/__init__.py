"""What the server tells of itself: its log, and its metrics as Prometheus reads them."""
