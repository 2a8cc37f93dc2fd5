"""The paper's benchmarks and long prompts on runs, without a network: docs/benchmarks.md."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries beneath are imported
