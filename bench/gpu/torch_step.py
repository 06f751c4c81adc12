#!/usr/bin/env python3
"""torch_step.py ARGUMENTS [-o RESULT] [--trace TRACE] [--compile] [--warmup N] [--repeats N]

Trains, on one GPU and in plain PyTorch, the model that a scenario describes, and says how long its
step takes and what it holds: a training loop that is not ours, beside the prediction and `plait
realrun`. --compile compiles each layer, and the loss, as torchtitan does. ARGUMENTS is what `plait export SCENARIO --to megatron-core` writes. As Megatron-LM has it,
weights are 16 bits wide, gradients are added up over the microbatches in fp32, Adam works on fp32
copies. Tokens are drawn at random. TRACE is for `plait profile`."""

import argparse
import json
import shlex
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def megatron_arguments(path):
    lines = (line.split("#")[0] for line in Path(path).read_text(encoding="utf-8").splitlines())
    words, arguments = shlex.split(" ".join(lines)), {}
    for word in words:
        if word.startswith("--"):
            name = word[2:].replace("-", "_")
            arguments[name] = True
        else:
            arguments[name] = word
    return argparse.Namespace(**arguments)


def integer(arguments, name, default=None):
    return int(getattr(arguments, name, default))


class Attention(nn.Module):
    def __init__(self, a, norm):
        super().__init__()
        hidden, head = integer(a, "hidden_size"), integer(a, "kv_channels")
        heads = integer(a, "num_attention_heads")
        groups = integer(a, "num_query_groups", heads)
        bias = not hasattr(a, "disable_bias_linear")
        self.head, self.heads, self.groups = head, heads, groups
        self.qkv = nn.Linear(hidden, (heads + 2 * groups) * head, bias=bias)
        self.out = nn.Linear(heads * head, hidden, bias=bias)
        self.dropout = float(getattr(a, "attention_dropout", 0))
        self.fused = getattr(a, "attention_backend", "flash") != "unfused"
        self.recompute_core = getattr(a, "recompute_granularity", None) == "selective"
        normed = hasattr(a, "qk_layernorm")
        self.q_norm, self.k_norm = (norm(head) if normed else nn.Identity() for _ in range(2))

    def core(self, q, k, v):
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True,
                                                  enable_gqa=self.groups != self.heads)
        scores = torch.matmul(q, k.transpose(-1, -2)) * self.head ** -0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return torch.matmul(F.dropout(weights, self.dropout), v)

    def forward(self, x, rotation):
        b, s, _ = x.shape
        parts = [n * self.head for n in (self.heads, self.groups, self.groups)]
        q, k, v = (t.view(b, s, -1, self.head).transpose(1, 2)
                   for t in self.qkv(x).split(parts, dim=-1))
        q, k = self.q_norm(q), self.k_norm(k)
        if rotation is not None:
            q, k = rotated(q, *rotation), rotated(k, *rotation)
        if self.recompute_core:
            y = checkpoint(self.core, q, k, v, use_reentrant=False)
        else:
            y = self.core(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, s, -1))


def rotated(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def gated(h):
    gate, up = h.chunk(2, dim=-1)
    return F.silu(gate) * up


class Mlp(nn.Module):
    def __init__(self, a):
        super().__init__()
        hidden, ffn = integer(a, "hidden_size"), integer(a, "ffn_hidden_size")
        bias = not hasattr(a, "disable_bias_linear")
        self.gated = hasattr(a, "swiglu")
        self.up = nn.Linear(hidden, (2 if self.gated else 1) * ffn, bias=bias)
        self.down = nn.Linear(ffn, hidden, bias=bias)

    def forward(self, x):
        h = self.up(x)
        return self.down(gated(h) if self.gated else F.gelu(h, approximate="tanh"))


class Experts(nn.Module):
    """A mixture of gated experts without biases. No token is dropped: the host is told how many each
    expert has, and products are expert by expert; where PyTorch has it and the experts are many, one
    kernel's."""

    MANY = 16

    def __init__(self, a):
        super().__init__()
        hidden, ffn = integer(a, "hidden_size"), integer(a, "moe_ffn_hidden_size")
        self.experts, self.top = integer(a, "num_experts"), integer(a, "moe_router_topk")
        self.router = nn.Linear(hidden, self.experts, bias=False)
        self.grouped = self.experts > self.MANY and hasattr(F, "grouped_mm")
        if self.grouped:
            self.up = nn.Parameter(torch.empty(self.experts, hidden, 2 * ffn))
            self.down = nn.Parameter(torch.empty(self.experts, ffn, hidden))
        else:
            layers = lambda inner, outer: nn.ModuleList(nn.Linear(inner, outer, bias=False)
                                                        for _ in range(self.experts))
            self.up, self.down = layers(hidden, 2 * ffn), layers(ffn, hidden)

    def computed(self, rows, counts):
        if self.grouped:
            ends = counts.cumsum(0).to(torch.int32)
            return F.grouped_mm(gated(F.grouped_mm(rows, self.up, offs=ends)), self.down, offs=ends)
        counts = counts.tolist()
        each = lambda products, x: torch.cat([product(part) for product, part
                                              in zip(products, x.split(counts))])
        return each(self.down, gated(each(self.up, rows)))

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        shares, chosen = self.router(tokens).float().softmax(-1).topk(self.top, dim=-1)
        shares = (shares / shares.sum(-1, keepdim=True)).flatten()
        order = chosen.flatten().argsort()
        counts = torch.bincount(chosen.flatten(), minlength=self.experts)
        rows = self.computed(tokens.index_select(0, order // self.top), counts)
        rows = rows * shares.index_select(0, order).to(rows.dtype).unsqueeze(-1)
        return torch.zeros_like(tokens).index_add(0, order // self.top, rows).view_as(x)


class Layer(nn.Module):
    def __init__(self, a, norm):
        super().__init__()
        hidden = integer(a, "hidden_size")
        self.attention_norm, self.mlp_norm = norm(hidden), norm(hidden)
        self.attention = Attention(a, norm)
        self.mlp = (Experts if hasattr(a, "num_experts") else Mlp)(a)
        self.dropout = float(getattr(a, "hidden_dropout", 0))

    def dropped(self, x):
        return F.dropout(x, self.dropout) if self.dropout else x

    def forward(self, x, rotation):
        x = x + self.dropped(self.attention(self.attention_norm(x), rotation))
        return x + self.dropped(self.mlp(self.mlp_norm(x)))


class Transformer(nn.Module):
    def __init__(self, a):
        super().__init__()
        hidden, vocab = integer(a, "hidden_size"), integer(a, "padded_vocab_size")
        sequence = integer(a, "seq_length")
        rms = getattr(a, "normalization", "LayerNorm") == "RMSNorm"
        norm = lambda width: (nn.RMSNorm if rms else nn.LayerNorm)(width, eps=1e-5)
        self.rope = getattr(a, "position_embedding_type", None) == "rope"
        self.recompute = getattr(a, "recompute_granularity", None) == "full"
        self.tokens = nn.Embedding(vocab, hidden)
        self.positions = None if self.rope else nn.Embedding(sequence, hidden)
        self.layers = nn.ModuleList(Layer(a, norm) for _ in range(integer(a, "num_layers")))
        self.norm = norm(hidden)
        self.head = nn.Linear(hidden, vocab, bias=False)
        if not hasattr(a, "untie_embeddings_and_output_weights"):
            self.head.weight = self.tokens.weight
        self.dropout = float(getattr(a, "hidden_dropout", 0))
        width = integer(a, "kv_channels")
        angles = torch.outer(torch.arange(sequence), 1e4 ** (-torch.arange(0, width, 2) / width))
        angles = torch.cat((angles, angles), dim=-1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, labels):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions.weight
            x = F.dropout(x, self.dropout) if self.dropout else x
        rotation = (self.cos, self.sin) if self.rope else None
        for layer in self.layers:
            if self.recompute:
                x = checkpoint(layer, x, rotation, use_reentrant=False)
            else:
                x = layer(x, rotation)
        return self.loss(self.head(self.norm(x)), labels)

    def compiled(self):
        for layer in self.layers:
            layer.compile(fullgraph=True)
        self.loss = torch.compile(self.loss)

    @staticmethod
    def loss(logits, labels):
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), labels.view(-1))


class Training:
    def __init__(self, a, compiled):
        self.micro, self.sequence = integer(a, "micro_batch_size"), integer(a, "seq_length")
        self.microbatches = integer(a, "global_batch_size") // self.micro
        self.vocab = integer(a, "padded_vocab_size")
        with torch.device("cuda"):
            self.model = Transformer(a).bfloat16()
        self.weights = list(self.model.parameters())
        self.masters = [w.detach().float() for w in self.weights]
        for weight, master in zip(self.weights, self.masters):
            master.grad = torch.zeros_like(master)
            weight.register_post_accumulate_grad_hook(self.adds_to(master))
        self.adam = torch.optim.AdamW(self.masters, lr=1e-4, fused=True)
        if compiled:
            self.model.compiled()

    @staticmethod
    def adds_to(master):
        def add(weight):
            master.grad.add_(weight.grad)
            weight.grad = None
        return add

    def step(self):
        for _ in range(self.microbatches):
            tokens = torch.randint(self.vocab, (self.micro, self.sequence + 1), device="cuda")
            loss = self.model(tokens[:, :-1], tokens[:, 1:].contiguous())
            (loss / self.microbatches).backward()
        nn.utils.clip_grad_norm_(self.masters, 1.0, foreach=True)
        self.adam.step()
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)
            torch._foreach_zero_([m.grad for m in self.masters])
        return loss.detach()


def timed(training):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    loss = training.step()
    torch.cuda.synchronize()
    return time.perf_counter() - begin, loss.item()


def profiled(training, path):
    from torch.profiler import ProfilerActivity, profile, schedule
    plan = schedule(wait=1, warmup=1, active=3)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=plan) as profiler:
        for _ in range(5):
            training.step()
            torch.cuda.synchronize()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def memory_of_gpu():
    free, total = torch.cuda.mem_get_info()
    return {
        "max_memory_allocated_bytes": torch.cuda.max_memory_allocated(),
        "max_memory_reserved_bytes": torch.cuda.max_memory_reserved(),
        "device_memory_in_use_bytes": total - free,
    }


def save(result, output):
    """To standard output too."""
    text = json.dumps(result, indent=2) + "\n"
    if output:
        output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arguments", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(1)
    training = Training(megatron_arguments(options.arguments), options.compile)
    first = [timed(training) for _ in range(options.warmup)]
    measured = [timed(training) for _ in range(options.repeats)]
    times = [seconds for seconds, _ in measured]
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "compiled": options.compile,
        "parameters": sum(w.numel() for w in training.weights),
        "step_time_s": statistics.median(times),
        "step_times_s": times,
        "first_loss": first[0][1] if first else measured[0][1],
        "last_loss": measured[-1][1],
        **memory_of_gpu(),
    }
    if options.trace:
        profiled(training, options.trace)
    save(result, options.output)


if __name__ == "__main__":
    main()
