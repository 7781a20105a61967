"""Rules beside the objective: which context to evaluate."""
