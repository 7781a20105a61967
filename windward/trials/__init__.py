"""What was asked and what has come back: `records` as a person reads them, `trials` as a policy sees them."""
