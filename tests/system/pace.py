"""How many times longer waits may take than on a machine of its own; set before anything else is imported."""

SLOWER = 1
