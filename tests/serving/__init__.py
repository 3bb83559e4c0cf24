"""A server process of our own, and what is said and done in it."""
