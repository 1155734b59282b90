"""What a server compatible with TF Serving must answer, as checks that run against any server, from outside."""
