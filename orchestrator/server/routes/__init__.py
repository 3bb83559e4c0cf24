"""What can be asked of the server: one module for each subject."""
