"""Processes that are killed or held up in the midst of a run, and whether anything was lost by it."""
