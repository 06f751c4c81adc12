#!/usr/bin/env python3
"""torch_serve.py [-o RESULT] [--attention flash|cudnn] [--repeats N]

What steps of a server take on one GPU, in plain PyTorch: Llama 3.1 8B in bf16 with weights drawn at
random, of batches that decode and of prompts, as a CUDA graph each. Between products, kernels are
those that torch.compile fuses; attention is PyTorch's FlashAttention-2 or cuDNN's, over a cache that lies
in one piece. It is a server without a scheduler, to judge predicted steps by (serve_steps.py)."""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HIDDEN, LAYERS, HEADS, GROUPS, HEAD, FFN, VOCAB = 4096, 32, 32, 8, 128, 14336, 128256
# Sequences that decode, and tokens that each of them has.
DECODES = [(1, 1024), (1, 16384), (8, 1024), (32, 1024), (32, 4096), (64, 2048), (128, 1024),
           (256, 512)]
PROMPTS = [512, 2048, 8192]  # tokens of one
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


@torch.compile(dynamic=True)
def normed(x, more, gamma):
    x = x + more
    return x, F.rms_norm(x, (HIDDEN,), gamma, 1e-5)


@torch.compile(dynamic=True)
def rotated(qkv, cos, sin):
    """Of queries and keys; qkv: [batch, tokens, heads, HEAD]."""
    x = qkv[:, :, :HEADS + GROUPS]
    first, second = x.chunk(2, dim=-1)
    turned = x * cos + torch.cat((-second, first), dim=-1) * sin
    return turned[:, :, :HEADS], turned[:, :, HEADS:]


@torch.compile(dynamic=True)
def gated(h):
    gate, up = h.chunk(2, dim=-1)
    return F.silu(gate) * up


class Llama:
    def __init__(self):
        drawn = lambda *shape: torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 0.02
        self.tokens, self.head = drawn(VOCAB, HIDDEN), drawn(VOCAB, HIDDEN)
        self.gamma = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)
        self.layers = [(drawn((HEADS + 2 * GROUPS) * HEAD, HIDDEN), drawn(HIDDEN, HEADS * HEAD),
                        drawn(2 * FFN, HIDDEN), drawn(HIDDEN, FFN)) for _ in range(LAYERS)]

    def step(self, tokens, caches, cos, sin):
        """tokens: [batch, new]; a cache: keys and values, [batch, tokens, GROUPS, HEAD], the new ones
        last. The next token of each sequence."""
        batch, new = tokens.shape
        more, x = F.embedding(tokens, self.tokens), torch.zeros((), device="cuda",
                                                                dtype=torch.bfloat16)
        for (qkv, out, up, down), (keys, values) in zip(self.layers, caches):
            x, y = normed(x, more, self.gamma)
            parts = F.linear(y, qkv).view(batch, new, -1, HEAD)
            q, k = rotated(parts, cos, sin)
            keys[:, -new:], values[:, -new:] = k, parts[:, :, HEADS + GROUPS:]
            heads_first = [t.transpose(1, 2) for t in (q, keys, values)]
            y = F.scaled_dot_product_attention(*heads_first, is_causal=new > 1, enable_gqa=True)
            x, y = normed(x, F.linear(y.transpose(1, 2).reshape(batch, new, -1), out), self.gamma)
            more = F.linear(gated(F.linear(y, up)), down)
        _, y = normed(x[:, -1:], more[:, -1:], self.gamma)
        return F.linear(y, self.head).argmax(-1)


def timed(llama, batch, context, new, repeats):
    """Seconds of a step of `new` tokens of each sequence, `context` with them."""
    torch.manual_seed(1)
    tokens = torch.randint(VOCAB, (batch, new), device="cuda")
    caches = [[torch.randn(batch, context, GROUPS, HEAD, device="cuda", dtype=torch.bfloat16)
               for _ in range(2)] for _ in range(LAYERS)]
    positions = torch.arange(context - new, context, device="cuda")
    angles = torch.outer(positions, 5e5 ** (-torch.arange(0, HEAD, 2, device="cuda") / HEAD))
    angles = torch.cat((angles, angles), dim=-1)[:, None, :]
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            llama.step(tokens, caches, cos, sin)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        llama.step(tokens, caches, cos, sin)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeats + 1)]
    graph.replay()
    for mark in marks:
        mark.record()
        graph.replay()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1e-3 for begin, end in zip(marks, marks[1:])], graph


def kernels_of(graph):
    """Seconds of each kernel's launches in one step, by name."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        graph.replay()
        torch.cuda.synchronize()
    found = {e.key[:120]: {"launches": e.count, "time_s": e.device_time_total * 1e-6}
             for e in profiler.key_averages() if e.device_time_total > 0}
    return dict(sorted(found.items(), key=lambda item: -item[1]["time_s"])[:12])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--attention", choices=BACKENDS, default="flash")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    llama = Llama()
    steps = [(batch, context, 1) for batch, context in DECODES] + [(1, n, n) for n in PROMPTS]
    rows = []
    with torch.no_grad(), sdpa_kernel(BACKENDS[options.attention]):
        for batch, context, new in steps:
            times, graph = timed(llama, batch, context, new, options.repeats)
            rows.append({"batch": batch, "context_tokens": context, "new_tokens": new,
                         "step_time_s": statistics.median(times), "step_times_s": times,
                         "kernels": kernels_of(graph)})
            sys.stderr.write(f"{batch} x {context} + {new}: {rows[-1]['step_time_s'] * 1e3:.3f} ms\n")
            del graph
            torch.cuda.empty_cache()
            result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                      "attention": options.attention, "model": "llama-3.1-8b", "steps": rows}
            if options.output:
                options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
