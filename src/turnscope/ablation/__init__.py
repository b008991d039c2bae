"""One part of a finished study made again, in a folder of its own, and what came out otherwise."""
