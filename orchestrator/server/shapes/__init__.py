"""What comes in and goes out as JSON, each with an example."""
