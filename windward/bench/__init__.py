"""The papers' experiments: problems, methods on them, records, tables and figures."""
