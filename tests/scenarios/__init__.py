"""Six runs that together have everything that can be lost: what they do, and the world that they do it to."""
