"""The paper's benchmarks on runs, through lm-eval: docs/benchmarks.md."""
