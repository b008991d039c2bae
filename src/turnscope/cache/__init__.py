"""Artifacts by what they were made from, so that no study makes again what another has made.

An entry of a cache is one finished job under its `key` (`turnscope.provenance.key`): a digest of
stage, specification, code and inputs. It is looked up before the workflow plans its jobs, so that a
hit costs no place in a queue. Many users may share a cache: an entry appears at once and complete,
is never changed, and is checked byte by byte before it is used. Whoever may write there is trusted
as far as what a job computes: a checksum tells that an artifact is whole, not that it is right.

`shelf` keeps entries, `lookup` finds those of the jobs of a study.
"""
