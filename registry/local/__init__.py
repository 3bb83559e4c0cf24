"""A small real model that comes with a wheel: it costs nothing, asks for no key and works offline."""
