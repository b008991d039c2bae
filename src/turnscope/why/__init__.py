"""Why a job would run, in words: what changed since its artifact was made."""
