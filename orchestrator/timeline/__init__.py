"""How the time of a run went: its Facts in, a row for each step out, and a picture of them."""
