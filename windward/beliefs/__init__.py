"""How a posterior stands in for the unknown function."""
