#!/usr/bin/env python3
"""torch_rows.py [-o RESULT]: kernels on rows of bf16 on one GPU, one by one as the profiler saw them:
norms, element-wise kernels and sums of a layer in eager PyTorch, functions that Megatron-LM fuses by
torch.compile, and products in 8 bits with the casts in front of them (torch_scaled.py). RESULT is JSON,
a list of rows; the second-level cache is swept before each repeat."""

import torch
import torch._functorch.config
import torch.nn.functional as F

import torch_scaled
from torch_clock import BF16, measure_all, normal

NORMS = [(8192, 768), (16384, 1024), (8192, 2048), (32768, 2048), (8192, 4096), (2048, 4096), (16384, 4096),
         (4096, 8192), (8192, 12288)]
ROWS = [(8192, 768), (8192, 2304), (16384, 2048), (8192, 4096), (2048, 4096), (4096, 8192), (4096, 16384),
        (8192, 12288)]
FUSED = [(8192, 4096), (32768, 1536)]


def both_passes(name, forward, leaves):
    y = forward()
    dy = torch.randn_like(y)
    return {f"{name}_forward": forward,
            f"{name}_backward": lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)}


def norm(clock, rows, width):
    x = normal(rows, width).requires_grad_()
    gamma, beta = (normal(width).requires_grad_() for _ in range(2))
    x32, gamma32, beta32 = (t.detach().float().requires_grad_() for t in (x, gamma, beta))
    shape = (width,)
    works = (both_passes("layer", lambda: F.layer_norm(x, shape, gamma, beta), (x, gamma, beta)) |
             both_passes("layer_without_beta", lambda: F.layer_norm(x, shape, gamma), (x, gamma)) |
             both_passes("layer_fp32", lambda: F.layer_norm(x32, shape, gamma32, beta32),
                         (x32, gamma32, beta32)) |
             both_passes("rms", lambda: F.rms_norm(x, shape, gamma), (x, gamma)))
    return {"kernels_us": clock.kernels_us(works)}


def element_wise(clock, rows, width):
    x = normal(rows, width).requires_grad_()
    dy, other, plain = normal(rows, width), normal(rows, width), x.detach()
    wide, thirds = plain.float(), [normal(rows, width) for _ in range(3)]
    works = (both_passes("gelu", lambda: F.gelu(x), (x,)) |
             both_passes("gelu_tanh", lambda: F.gelu(x, approximate="tanh"), (x,)) |
             both_passes("silu", lambda: F.silu(x), (x,)) |
             both_passes("dropout", lambda: F.dropout(x, 0.1), (x,)) |
             {"add": lambda: plain + other, "product": lambda: plain * other, "copy": plain.clone,
              "sum_of_rows": lambda: dy.sum(0), "sum_of_rows_fp32": lambda: dy.sum(0, dtype=torch.float32),
              "cat": lambda: torch.cat(thirds, -1), "to_fp32": plain.float, "to_bf16": lambda: wide.to(BF16)})
    return {"kernels_us": clock.kernels_us(works)}


# Of Megatron-LM (core/fusions): the functions behind jit_fuser, by what they compute.
def swiglu(u):
    gate, up = torch.chunk(u, 2, -1)
    return F.silu(gate) * up


def weighted_swiglu(u, share):
    return (swiglu(u) * share).to(u.dtype)


def bias_gelu(u, bias):
    u = u + bias
    return u * 0.5 * (1.0 + torch.tanh(0.79788456 * u * (1 + 0.044715 * u * u)))


def bias_dropout_add(x, bias, residual):
    return residual + F.dropout(x + bias, p=0.1, training=True)


def fused(clock, rows, width):
    torch._functorch.config.donated_buffer = False  # a graph's backward pass is called again and again
    wide, x, residual = (normal(rows, n).requires_grad_() for n in (2 * width, width, width))
    bias, share = normal(width).requires_grad_(), torch.rand(rows, 1, device="cuda").requires_grad_()
    works = {}
    for function, operands in ((swiglu, (wide,)), (weighted_swiglu, (wide, share)), (bias_gelu, (x, bias)),
                               (bias_dropout_add, (x, bias, residual))):
        compiled = torch.compile(function, dynamic=False)
        works |= both_passes(function.__name__, lambda c=compiled, o=operands: c(*o), operands)
    return {"kernels_us": clock.kernels_us(works)}


WORK = [("norm", norm, NORMS, ("rows", "width")), ("element_wise", element_wise, ROWS, ("rows", "width")),
        ("fused_by_compile", fused, FUSED, ("rows", "width")), *torch_scaled.WORK]


if __name__ == "__main__":
    measure_all(__doc__, WORK)
