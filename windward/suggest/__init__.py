"""What a policy says of a state of the trials: the next decision, and the one to deploy."""
