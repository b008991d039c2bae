"""The jobs of the workflow, one thin module a rule; each can be typed by hand."""

import os

LIBRARIES = ("OMP", "MKL", "OPENBLAS")
"""Begin the names of variables that say how many threads share a sum, on which it depends."""
# This comes before numpy and torch, which look once.
for _library in LIBRARIES:
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
# Jobs do not use the network. A tokenizer that is saved says whether it was so.
os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
