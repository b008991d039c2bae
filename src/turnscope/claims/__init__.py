"""The claims ledger, one file for each section of the paper."""
