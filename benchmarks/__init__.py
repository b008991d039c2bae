"""How fast things are, as ratios in one run on one machine. `make bench` prints the table."""
