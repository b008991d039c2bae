"""One file that holds a study: code, lock files, config, artifacts, and what each was made from.

An archive is a tar file without compression, so its bytes are the same wherever it is packed, and
tables, weights and pictures would not shrink. All is in the folder `study`: unpacked by `tar`, it
is the repository with its results, and an RO-Crate (`crate`). The first member is a manifest that
`sha256sum -c` reads. `pack` writes an archive, `unpack` checks and reads one that anybody may have
written.
"""
