"""Windward inside other libraries, and theirs inside Windward; nothing in the package imports these modules.

`windward.integrations.optuna` is a sampler for Optuna, `windward.integrations.botorch` goes both ways.
"""
