"""Stored."""

BEST = {}
