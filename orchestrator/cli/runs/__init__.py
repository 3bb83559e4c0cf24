"""The commands over the runs of the journal."""
