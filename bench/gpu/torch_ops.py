#!/usr/bin/env python3
"""torch_ops.py [-o RESULT]: times what the cost model has from PyTorch's kernels, one by one, on one
GPU: fused attention, the ways of tokens to experts and back (Megatron-LM, moe_utils.py, without
fusion), experts' products, and one product for seconds with the clocks and the power that it draws.
RESULT is JSON, a list of rows; the second-level cache is swept before each repeat."""

import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_clock import BF16, measure_all, normal

ATTENTION = [(3, 4096, 16, 16, 96), (9, 4096, 8, 8, 96), (4, 4096, 16, 16, 128), (2, 8192, 32, 8, 128),
             (8, 2048, 16, 16, 128), (8, 2048, 16, 16, 64), (8, 1024, 12, 12, 64),
             (16, 1024, 16, 16, 96), (1, 32768, 16, 4, 128), (4, 4096, 16, 16, 80)]
DROPPED = [(4, 2048, 24, 24, 96, 0.1), (8, 1024, 12, 12, 64, 0.1), (4, 4096, 16, 16, 128, 0.1)]
ROUTING = [(4096, 2048, 128, 8), (8192, 4096, 128, 8), (4096, 6144, 8, 2), (4096, 7168, 256, 8)]
EXPERTS = [(128, 256, 1536, 2048), (128, 256, 2048, 768), (16, 2048, 1536, 2048), (8, 4096, 3072, 4096),
           (8, 4096, 4096, 1536), (8, 1024, 28672, 4096), (32, 1024, 4096, 7168)]
PRODUCTS = [(8192, 8192, 8192), (12288, 8192, 3072), (4096, 4096, 4096)]


def flash(clock, batch, sequence, heads, kv_heads, width):
    """FlashAttention-2 as PyTorch ships it, of packed sequences, as flash-attn is called."""
    rows = batch * sequence
    q, k, v = normal(rows, heads, width), normal(rows, kv_heads, width), normal(rows, kv_heads, width)
    ends = torch.arange(0, rows + 1, sequence, device="cuda", dtype=torch.int32)
    last = (ends, ends, sequence, sequence, 0.0, True)
    forward = lambda: torch.ops.aten._flash_attention_forward(q, k, v, *last, False)
    y, sums, seed, offset, _ = forward()
    dy = torch.randn_like(q)
    backward = lambda: torch.ops.aten._flash_attention_backward(dy, q, k, v, y, sums, *last, seed, offset)
    return {"forward_ms": clock.ms(forward), "backward_ms": clock.ms(backward)}


def cudnn(clock, batch, sequence, heads, kv_heads, width, dropout=0.0):
    q, k, v = (normal(batch, n, sequence, width).requires_grad_() for n in (heads, kv_heads, kv_heads))
    dy = torch.randn_like(q)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        forward = lambda: F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True,
                                                         enable_gqa=heads != kv_heads)
        y = forward()
        backward = lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True)
        return {"forward_ms": clock.ms(forward), "backward_ms": clock.ms(backward)}


def routing(clock, tokens, hidden, experts, top):
    x, weight = normal(tokens, hidden), normal(experts, hidden)
    logits = torch.randn(tokens, experts, device="cuda")
    shares, chosen = torch.topk(torch.softmax(logits, -1), top, dim=1)
    gates = torch.zeros_like(logits).scatter(1, chosen, shares)
    taken = torch.zeros_like(logits).int().scatter(1, chosen, 1).bool()
    all_tokens = torch.arange(tokens, device="cuda").unsqueeze(0).expand(experts, -1)
    order_of = lambda: all_tokens.masked_select(taken.T.contiguous())
    order = order_of()
    places = order.unsqueeze(1).expand(-1, hidden)
    rows = x.index_select(0, order)
    other = torch.randn_like(rows)
    counts = taken.sum(0).tolist()
    gates_of = lambda: gates.T.contiguous().masked_select(taken.T.contiguous())
    of_rows = gates_of()
    wide = rows * of_rows.unsqueeze(-1)
    zeros = lambda dtype: torch.zeros(tokens, hidden, device="cuda", dtype=dtype)
    work = {
        "router": lambda: F.linear(x, weight).float(),
        "softmax_topk": lambda: torch.topk(torch.softmax(logits, -1), top, dim=1),
        "counts_to_host": lambda: taken.sum(0).tolist(),
        "order": order_of,
        "gates": gates_of,
        "index_select": lambda: x.index_select(0, order),
        "index_add": lambda: torch.zeros_like(x).index_add_(0, order, other),
        "chunks_cat": lambda: torch.cat(list(rows.split(counts))),
        "times_gates_fp32": lambda: rows * of_rows.unsqueeze(-1),
        "times_gates_bf16": lambda: rows * of_rows.to(BF16).unsqueeze(-1),
        "scatter_add_fp32": lambda: zeros(torch.float32).scatter_add_(0, places, wide),
        "scatter_add_bf16": lambda: zeros(BF16).scatter_add_(0, places, rows),
        "gather": lambda: torch.gather(x, 0, places),
        "gates_gradient": lambda: (rows * other).sum(-1),
        "copy": rows.clone,
    }
    return {f"{name}_ms": clock.ms(one) for name, one in work.items()}


def one_by_one(xs, weights, ys, streams):
    """The experts' products as a graph: on one stream, or dealt to several."""
    graph, main = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    others = [torch.cuda.Stream() for _ in range(streams)] if streams > 1 else [main]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=main):
        for other in others:
            other.wait_stream(main)
        for i, (x, weight, y) in enumerate(zip(xs, weights, ys)):
            with torch.cuda.stream(others[i % len(others)]):
                torch.mm(x, weight.t(), out=y)
        for other in others:
            main.wait_stream(other)
    return graph


def experts(clock, count, m, n, k):
    xs, weights, ys = ([normal(*shape) for _ in range(count)] for shape in ((m, k), (n, k), (m, n)))
    torch.mm(xs[0], weights[0].t(), out=ys[0])
    ends = torch.arange(m, count * m + 1, m, device="cuda", dtype=torch.int32)
    x, stacked, dy = torch.cat(xs), torch.stack(weights).transpose(-2, -1), torch.cat(ys)
    return {"one_by_one_ms": clock.ms(one_by_one(xs, weights, ys, 1).replay),
            "four_streams_ms": clock.ms(one_by_one(xs, weights, ys, 4).replay),
            "grouped_ms": clock.ms(lambda: F.grouped_mm(x, stacked, offs=ends)),
            "grouped_weight_gradient_ms": clock.ms(lambda: F.grouped_mm(dy.t(), x, offs=ends))}


def sustained(clock, m, n, k, seconds=3):
    import pynvml
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    a, b, c = normal(m, k), normal(n, k), normal(m, n)
    flop, readings = 2 * m * n * k, []
    product = lambda: torch.mm(a, b.t(), out=c)
    calls = max(1, int(0.25 / (flop / 7e14)))  # a quarter of a second of an H100
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            product()
        end.record()
        time.sleep(0.15)
        clock_mhz = pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM)
        power_w = pynvml.nvmlDeviceGetPowerUsage(device) / 1e3
        torch.cuda.synchronize()
        readings.append({"tflops": calls * flop / begin.elapsed_time(end) / 1e9,
                         "sm_clock_mhz": clock_mhz, "power_w": power_w})
    return {"alone_ms": clock.ms(product), "readings": readings}


WORK = [("flash_attention", flash, ATTENTION, ("batch", "sequence", "heads", "kv_heads", "head_dim")),
        ("cudnn_attention", cudnn, [ATTENTION[i] for i in (0, 2, 3, 5)],
         ("batch", "sequence", "heads", "kv_heads", "head_dim")),
        ("cudnn_attention", cudnn, DROPPED,
         ("batch", "sequence", "heads", "kv_heads", "head_dim", "dropout")),
        ("sustained_product", sustained, PRODUCTS, ("m", "n", "k")),
        ("routing", routing, ROUTING, ("tokens", "hidden", "experts", "top")),
        ("experts", experts, EXPERTS, ("experts", "m", "n", "k"))]


if __name__ == "__main__":
    measure_all(__doc__, WORK)
