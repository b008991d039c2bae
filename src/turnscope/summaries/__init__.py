"""Tables of numbers for the reader, one file each: `data` gives the table, `caption` describes it.

Columns NAME, NAME_low and NAME_high are an estimate and its interval; the report shows them as one.
"""
