# Why a job runs is said in words: which value of its specification, which module, which input.

import contextlib

from snakemake.logging import logger

from turnscope.why import reasons

MAKERS = {}
"""What each job does, by the files that it makes; those before a job are printed before it."""


def in_words(record):
    """Put the reason of a job that is about to be printed into words."""
    if getattr(record, "rule_msg", None) and hasattr(record, "reason"):
        # Whatever cannot be read meanwhile must not end the run; then Snakemake's reason stays.
        with contextlib.suppress(Exception):
            record.reason = reasons.words(record.reason, record.shellcmd, record.output, MAKERS)
        MAKERS.update(dict.fromkeys(record.output, record.rule_msg))
    return True


logger.addFilter(in_words)
