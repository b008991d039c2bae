"""Figures, one file each: `data` selects what is drawn, `plot` draws it."""
