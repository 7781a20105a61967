"""A study as a person reads it: sentences, plain records, figures, a report."""
