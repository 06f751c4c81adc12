"""Part of torch_rows.py: products in 8 bits with a scale for each tensor or each row, with partial sums
as they are in the tensor cores or added up in fp32 registers (use_fast_accum), beside bf16, and the
casts in front of them as torch.compile fuses them."""

import torch

from torch_clock import BF16, normal

FP8 = torch.float8_e4m3fn
LARGEST = torch.finfo(FP8).max
# Layers of Llama 3 8B and 70B, as a whole and on eight tensor-parallel ranks; gradients of weights.
PRODUCTS = [(8192, 4096, 4096), (8192, 1024, 4096), (8192, 14336, 4096), (8192, 4096, 14336),
            (16384, 4096, 4096), (16384, 14336, 4096), (16384, 4096, 14336), (8192, 1024, 8192),
            (8192, 8192, 1024), (8192, 3584, 8192), (8192, 8192, 3584), (16384, 3584, 8192),
            (8192, 8192, 8192), (8192, 28672, 8192), (4096, 4096, 4096), (2048, 2048, 2048),
            (4096, 4096, 8192), (14336, 4096, 8192), (4096, 14336, 16384), (1024, 8192, 8192),
            (3584, 8192, 8192), (8192, 3584, 16384), (8192, 512, 4096), (8192, 1792, 4096)]
CASTS = [(8192, 4096), (16384, 8192)]


def narrow(x, along):
    """x in 8 bits with a scale for all, or for each row or column of what a product multiplies."""
    largest = x.abs().amax() if along is None else x.abs().amax(along, keepdim=True)
    scale = LARGEST / largest.float().clamp(min=1e-12)
    return (x.float() * scale).clamp(-LARGEST, LARGEST).to(FP8), scale.reciprocal()


def of_8_bits(a, b, by_row, fast):
    """A call of a b^T."""
    (x, of_x), (w, of_w) = (narrow(a, 1), narrow(b, 1)) if by_row else (narrow(a, None), narrow(b, None))
    w, of_w = w.t(), of_w.t() if by_row else of_w
    return lambda: torch._scaled_mm(x, w, scale_a=of_x, scale_b=of_w, out_dtype=BF16, use_fast_accum=fast)


def product(clock, m, n, k):
    a, b = normal(m, k), normal(n, k)
    calls = {"bf16": lambda: torch.mm(a, b.t())}
    for name, by_row in (("tensor", False), ("row", True)):
        for accumulator, fast in (("fast", True), ("split", False)):
            calls[f"{name}_{accumulator}"] = of_8_bits(a, b, by_row, fast)
    row = {}
    for name, call in list(calls.items()):
        try:
            row[f"{name}_ms"] = clock.ms(call)
        except RuntimeError as error:  # what this release or GPU has not
            row[f"{name}_error"] = str(error)[:200]
            del calls[name]
    return row | {"kernels_us": clock.kernels_us(calls)}


def cast(clock, rows, columns):
    x = normal(rows, columns)
    calls = {"tensor": lambda: narrow(x, None), "row": lambda: narrow(x, 1), "column": lambda: narrow(x, 0)}
    compiled = {name: torch.compile(call, dynamic=False) for name, call in calls.items()}
    return {"kernels_us": clock.kernels_us(compiled)}


WORK = [("product_in_8_bits", product, PRODUCTS, ("m", "n", "k")),
        ("cast_to_8_bits", cast, CASTS, ("rows", "columns"))]
