#!/usr/bin/env python3
"""trainer_step.py ARGUMENTS [-o RESULT] [--autocast] [--steps N]

Trains the Llama that a scenario describes with Hugging Face's Trainer, on one GPU, and says how long
its step takes and what it holds: a framework's own training loop beside the prediction. ARGUMENTS is
what `plait export SCENARIO --to megatron-core` writes. --autocast: weights in fp32 and products in
bf16, as the Trainer's bf16=True has it; else weights, gradients and moments are bf16. Weights and
tokens are drawn at random; the first three steps are not counted."""

import argparse
import statistics
import time
from pathlib import Path

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

from torch_step import integer, megatron_arguments, memory_of_gpu, save

WARMUP = 3


class Tokens(torch.utils.data.Dataset):
    def __init__(self, a):
        self.vocab, self.sequence = integer(a, "padded_vocab_size"), integer(a, "seq_length")

    def __len__(self):
        return 100_000

    def __getitem__(self, _):
        tokens = torch.randint(self.vocab, (self.sequence,))
        return {"input_ids": tokens, "labels": tokens}


class Clock(TrainerCallback):
    def __init__(self):
        self.begin, self.times = None, []

    def on_step_begin(self, *_, **__):
        torch.cuda.synchronize()
        self.begin = time.perf_counter()

    def on_step_end(self, *_, **__):
        torch.cuda.synchronize()
        self.times.append(time.perf_counter() - self.begin)


def llama(a, autocast):
    config = LlamaConfig(
        hidden_size=integer(a, "hidden_size"), intermediate_size=integer(a, "ffn_hidden_size"),
        num_hidden_layers=integer(a, "num_layers"),
        num_attention_heads=integer(a, "num_attention_heads"),
        num_key_value_heads=integer(a, "num_query_groups", integer(a, "num_attention_heads")),
        vocab_size=integer(a, "padded_vocab_size"), max_position_embeddings=integer(a, "seq_length"),
        tie_word_embeddings=not hasattr(a, "untie_embeddings_and_output_weights"), use_cache=False)
    config._attn_implementation = "sdpa"
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    return model.float() if autocast else model.bfloat16()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arguments", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    torch.manual_seed(1)
    a, clock = megatron_arguments(options.arguments), Clock()
    recomputed = getattr(a, "recompute_granularity", None) == "full"
    micro = integer(a, "micro_batch_size")
    arguments = TrainingArguments(
        output_dir="trainer", per_device_train_batch_size=micro, bf16=options.autocast,
        gradient_accumulation_steps=integer(a, "global_batch_size") // micro,
        gradient_checkpointing=recomputed,
        gradient_checkpointing_kwargs={"use_reentrant": False} if recomputed else None,
        max_steps=options.steps, max_grad_norm=1.0, dataloader_num_workers=2, report_to=[],
        save_strategy="no", logging_strategy="no")
    trainer = Trainer(model=llama(a, options.autocast), args=arguments, train_dataset=Tokens(a),
                      callbacks=[clock])
    trainer.train()
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "autocast": options.autocast,
        "recomputed": recomputed,
        "step_time_s": statistics.median(clock.times[WARMUP:]),
        "step_times_s": clock.times,
        **memory_of_gpu(),
    }
    save(result, options.output)


if __name__ == "__main__":
    main()
