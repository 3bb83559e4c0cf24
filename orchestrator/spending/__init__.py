"""What a run may spend, what it has spent, and how it lands when that comes to an end."""
