"""The tools around transformers on a model of darope.hf: its Trainer, PEFT and torch.compile."""

import math

import pytest
import torch
from safetensors.torch import load_file

transformers = pytest.importorskip("transformers", reason="needs transformers")
from darope.hf import ProjectParameters  # noqa: E402
from hf_small import small  # noqa: E402
from test_hf import ROWS, TOKENS, auto, checkpoint, groups  # noqa: E402, F401


def trainer(model, folder, optimizers=(None, None), **settings):
    pytest.importorskip("accelerate", reason="Hugging Face's Trainer needs accelerate")
    arguments = transformers.TrainingArguments(
        str(folder),
        per_device_train_batch_size=2,
        lr_scheduler_type="constant",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        logging_steps=1,
        **settings,
    )
    rows = [dict(input_ids=row, labels=row) for row in ROWS]
    callbacks = [ProjectParameters()]
    return transformers.Trainer(
        model, arguments, train_dataset=rows, callbacks=callbacks, optimizers=optimizers
    )


@pytest.mark.parametrize("encoding", ["darope", "cope", "pope", "learned"])
def test_a_step_of_the_trainer_is_that_of_the_program(checkpoint, encoding, tmp_path):  # noqa: F811
    folder, _ = checkpoint(encoding)
    model = auto(folder)
    optimizer = torch.optim.AdamW(groups(model, "lingua"), lr=1e-2, betas=(0.9, 0.95), eps=1e-2)
    trainer(model, tmp_path, (optimizer, None), max_steps=1, max_grad_norm=1.0).train()
    state = model.state_dict()
    for name, tensor in load_file(folder / "stepped.safetensors").items():
        assert (tensor - state[name]).abs().max() < 1e-6, name


def test_the_callback_keeps_popes_phases_in_their_bounds(tmp_path):
    model = small("pope")
    work = trainer(model, tmp_path, max_steps=5, learning_rate=0.5, gradient_checkpointing=True)
    work.train()
    phases = torch.cat([p.flatten() for name, p in model.named_parameters() if name.endswith("delta")])
    assert phases.max() <= 0 and phases.min() >= -2 * math.pi and phases.std() > 0
    assert all(math.isfinite(line["loss"]) for line in work.state.log_history if "loss" in line)


def test_training_under_autocast(tmp_path):
    work = trainer(small("darope"), tmp_path, max_steps=5, learning_rate=0.02, bf16=True)
    work.train()
    losses = [line["loss"] for line in work.state.log_history if "loss" in line]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("encoding", ["darope", "cope", "pope", "learned"])
def test_lora_trains_its_own_weights_alone(encoding, tmp_path):
    peft = pytest.importorskip("peft", reason="needs peft")
    model, config = small(encoding), peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    adapted = peft.get_peft_model(model, config)
    optimizer = torch.optim.SGD([p for p in adapted.parameters() if p.requires_grad], lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        adapted(ROWS, labels=ROWS).loss.backward()
        optimizer.step()
    adapted.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(small(encoding), tmp_path)
    with torch.no_grad():
        expected = adapted.eval()(TOKENS).logits
        assert torch.equal(expected, again.eval()(TOKENS).logits)
        assert (expected - small(encoding).eval()(TOKENS).logits).abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("encoding", ["darope", "cope", "sinusoidal", "learned"])
def test_compiled_logits(encoding):
    model = small(encoding).eval()
    expected = model(TOKENS).logits
    assert (torch.compile(model)(TOKENS).logits - expected).abs().max() < 3e-5
