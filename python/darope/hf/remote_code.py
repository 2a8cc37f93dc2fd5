"""What this model needs beside transformers: the package darope, whose operators compute its positions."""

try:
    from darope.hf import DaropeConfig, DaropeForCausalLM
except ImportError as error:
    raise ImportError(
        "this model needs the package darope: run pip install --no-build-isolation '.[hf]' in its repository"
    ) from error

__all__ = ["DaropeConfig", "DaropeForCausalLM"]
