"""Models of the trainer in Hugging Face's library: load, generate, fine-tune, export and import.

import darope.hf
model = AutoModelForCausalLM.from_pretrained(RUN)  # a run's folder, or one of its checkpoints
"""

try:
    import transformers
except ImportError:
    raise ImportError("darope.hf needs transformers 5: run pip install 'darope[hf]'") from None

from transformers import AutoConfig, AutoModelForCausalLM

if int(transformers.__version__.partition(".")[0]) < 5:
    raise ImportError(f"darope.hf needs transformers 5; this is {transformers.__version__}")

from .checkpoints import newest_checkpoint
from .configuration import DaropeConfig
from .modeling import DaropeForCausalLM, DaropeModel, ProjectParameters

__all__ = ["DaropeConfig", "DaropeForCausalLM", "DaropeModel", "ProjectParameters", "newest_checkpoint"]

AutoConfig.register("darope", DaropeConfig)
AutoModelForCausalLM.register(DaropeConfig, DaropeForCausalLM)
