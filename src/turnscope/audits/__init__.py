"""Is an artifact what it claims to be? One module a kind of audit: `check(results, settings)`.

An audit reads the records beside the artifacts, and the artifacts; it changes nothing. It depends
on no list of rules: what an artifact is, its record and its table say. Whatever cannot be read is a
finding. What no audit can find, docs/audit.md says.
"""
