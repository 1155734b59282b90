"""REST as TF Serving speaks it, on an ASGI server."""
