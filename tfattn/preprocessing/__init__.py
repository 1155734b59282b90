"""Raw fields to features, in the graph: what runs before training runs inside the export as well."""
