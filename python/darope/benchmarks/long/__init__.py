"""Long prompts, made and read without a network: docs/benchmarks.md."""
