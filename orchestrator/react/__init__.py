"""The rooms of the agent's loop: each decides one thing and knows nothing of the others."""
