"""Training arms, one file each: budget schedule x reward x credit."""
