"""Traces as torch.profiler writes them, for tests: by hand, or of a simulated step."""

import gzip
import json
import math
import re
import sys
from pathlib import Path

# A name that each op of a plan has where PyTorch, cuBLAS, FlashAttention and NCCL run it.
KERNELS = {
    "matmul": "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
    "attention": "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
                 "cutlass::bfloat16_t> >(flash::Flash_fwd_params)",
    "norm": "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
    "activation": "void transformer_engine::gated_kernel<32, float, &silu>(int)",
    "rope": "void transformer_engine::fused_rope_forward_kernel<float>(int)",
    "embedding": "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(int)",
    "cross_entropy": "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float>(float*)",
    "adam": "void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor>",
    "head_norm": "void transformer_engine::normalization::rmsnorm_fwd_general_kernel<float>(int)",
    "gated_norm": "layer_norm_gated_fwd_kernel",
    "gate": "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel_cuda>(int)",
    "causal_conv": "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128>>(ConvParams)",
    "scan": "_chunk_scan_fwd_kernel",
    "delta_rule": "chunk_gated_delta_rule_fwd_kernel_h_blockdim64",
    "route": "_topk_forward_kernel",
    "dispatch": "_permute_kernel",
    "combine": "_unpermute_kernel",
    "squared_norm": "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor>",
}
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
COLLECTIVES = {  # of the plan: kernel, c10d's name, whether its full buffer is the input or the output
    "all_reduce": ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                   "allreduce", "both"),
    "all_gather": ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                   "_allgather_base", "out"),
    "reduce_scatter": ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                       "_reduce_scatter_base", "in"),
    "all_to_all": ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "all_to_allv", "both"),
    "send": ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send", "both"),
    "shift": ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send", "both"),
    "recv": ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "recv", "both"),
}


class KinetoTrace:
    """A trace being put together; times in microseconds."""

    def __init__(self, rank=0, world_size=1, gpu="NVIDIA H100 80GB HBM3", sms=132):
        self.document = {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": gpu, "totalGlobalMem": 84929347584,
                                  "computeMajor": 9, "computeMinor": 0, "numSms": sms}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world_size},
            "displayTimeUnit": "ms",
            "traceEvents": [],
        }
        self.correlation = 0

    def event(self, category, name, start, duration, pid=0, tid=7, **arguments):
        self.document["traceEvents"].append(
            {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
             "ts": start, "dur": duration, "args": arguments})

    def step(self, number, start, duration):
        self.event("user_annotation", f"ProfilerStep#{number}", start, duration, 1000, 1000,
                   **{"External id": number})

    def kernel(self, name, launched, start, duration, stream=7, **arguments):
        self.correlation += 1
        self.event("cuda_runtime", "cudaLaunchKernel", launched, 1, 1000, 1000,
                   cbid=211, correlation=self.correlation)
        self.event("kernel", name, start, duration, 0, stream, device=0, context=1, stream=stream,
                   correlation=self.correlation, grid=[8, 12, 1], block=[128, 1, 1],
                   **{"est. achieved occupancy %": 5, **arguments})

    def copy(self, name, launched, start, duration):
        self.correlation += 1
        self.event("cuda_runtime", "cudaMemcpyAsync", launched, 1, 1000, 1000,
                   cbid=41, correlation=self.correlation)
        self.event("gpu_memcpy", name, start, duration, device=0, context=1, stream=7,
                   correlation=self.correlation, bytes=4096)

    def collective(self, kind, size, ranks, launched, start, duration, stream=20):
        name, c10d, full = COLLECTIVES[kind]
        part = size // ranks
        self.kernel(name, launched, start, duration, stream,
                    **{"Collective name": c10d, "In msg nelems": part if full == "out" else size,
                       "Out msg nelems": part if full == "in" else size, "Group size": ranks,
                       "dtype": "Byte", "In split size": "[]", "Process Group Name": "0",
                       "Process Group Ranks": str(list(range(ranks)))})

    def write(self, path):
        text = json.dumps(self.document)
        if str(path).endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.write(text)
        else:
            path.write_text(text, encoding="utf-8")
        return path


def kineto_of(timeline, result, steps=3):
    """Plait's own timeline of a step (plait run --trace), of its last rank, as the profiler would have
    recorded several such steps. `result`: what plait run --format json says of it."""
    rank = max(e["pid"] for e in timeline["traceEvents"])
    mesh, step_us = result["mesh"], result["step_time_s"] * 1e6
    hosts = threads_of(timeline, rank, ("host", "storage_read", "storage_write"))
    slices = [e for e in timeline["traceEvents"] if e["ph"] == "X" and e["pid"] == rank
              and e["tid"] > 1 and e["tid"] not in hosts and e["dur"] > 0]
    slices.sort(key=lambda e: e["ts"])
    device = re.search(r" x (\S+?)(,|$)", result["cluster"]).group(1)
    out = KinetoTrace(rank, result["world_size"], "NVIDIA " + device.upper(), 0)
    for number in range(5, 5 + steps):
        host, device = 1e6 + number * step_us, 2e6 + number * step_us
        out.step(number, host, step_us)
        for e in slices:
            add_slice(out, e, mesh, host + 1, round(device + e["ts"], 3), e["dur"])
    return out


def add_slice(out, e, mesh, launched, start, duration):
    name = e["name"]
    if name in ("send", "recv", "shift"):
        out.collective(name, e["args"]["bytes"], 2, launched, start, duration, 20 + e["tid"])
    elif name in COLLECTIVES:
        ranks = math.prod(mesh[axis] for axis in e["args"]["axes"].split("+"))
        out.collective(name, e["args"]["bytes"], ranks, launched, start, duration, 20 + e["tid"])
    elif name == "copy":
        out.copy("Memcpy HtoD (Pinned -> Device)", launched, start, duration)
    else:
        out.kernel(KERNELS.get(name, ELEMENTWISE), launched, start, duration)


def threads_of(timeline, rank, names):
    return {e["tid"] for e in timeline["traceEvents"]
            if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] == rank
            and e["args"]["name"] in names}


def main():
    """kineto_trace.py TIMELINE RESULT TRACE: of what plait run --trace and --format json wrote, the
    trace of the last rank as torch.profiler would have recorded it."""
    timeline, result, trace = sys.argv[1:]
    with open(timeline, encoding="utf-8") as file:
        timeline = json.load(file)
    with open(result, encoding="utf-8") as file:
        result = json.load(file)
    kineto_of(timeline, result).write(Path(trace))


if __name__ == "__main__":
    main()
