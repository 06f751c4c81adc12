"""What the files of published runs hold."""

# File -> short name, framework and models, GPUs. Other files go by their own name.
SOURCES = {
    "megatron_sc21_a100": ("SC21", "Narayanan et al. 2021 and Megatron-LM: GPT 1B to 1T",
                           "A100, V100; 1 to 3,072"),
    "bigscience_bloom_a100": ("BLOOM", "BigScience, Megatron-DeepSpeed: GPT 18B to 205B",
                              "A100; 8 to 384"),
    "bigscience_v100_jeanzay": ("Jean Zay †", "BigScience, Megatron-DeepSpeed: GPT 7.5B to 206B",
                                "V100; 8 to 256"),
    "flagperf_nvidia": ("FlagPerf", "PaddleNLP and others: LLaMA, GPT-3, Baichuan2",
                        "A100, A800, H100, H800; 8 to 32"),
    "hagemann2023_llama_a100": ("Hagemann", "Hagemann et al. 2023, Aleph Alpha: LLaMA 13B and 30B",
                                "A100; 64 to 256"),
    "libai_megatron_small": ("LiBai", "LiBai and Megatron-LM: GPT-2, BERT",
                             "V100 (not stated); 1 to 32"),
    "llmc_and_stas00_single_node": ("llm.c", "GPT-2, GPT-3 125M; Llama 3 8B by S. Bekman",
                                    "A100, H100, H200, B200; 8"),
    "llmfoundry_mpt_fsdp": ("llm-foundry", "MosaicML, FSDP: MPT 125M to 70B",
                            "A100, H100; 8 to 64"),
    "megatron_core_h100": ("Megatron-Core", "GPT 1.7B to 462B, Llama 3",
                           "H100; 8 to 6,144"),
    "megatron_lm_ci_golden": ("CI golden ‡", "Megatron-LM's own tests: tiny GPT and others",
                              "A100, H100, GB200; up to 8"),
    "megatron_moe_zoo_and_reports": ("MoE zoo", "Megatron-Core: Mixtral, Qwen3, DeepSeek-V3",
                                     "H100, GB200; 64 to 256"),
    "moe_parallel_folding_h100": ("MoE folding", "Megatron-Core: Mixtral, Qwen2, Llama 3 as MoE",
                                  "H100; 64 to 256"),
    "nanotron_ultrascale_h100": ("nanotron", "Llama of 3.6B", "H100; 1 to 32"),
    "nvidia_dgxc_benchmarking": ("DGX Cloud", "NeMo, MaxText, Paxml: Llama 2 and 3, GPT-3, Nemotron; BF16, FP8",
                                 "H100; 8 to 128"),
    "nvidia_megatron_bridge_perf_summary": ("Megatron Bridge", "Llama 3, MoE; BF16, FP8, NVFP4",
                                            "H100, B200, GB200; 8 to 64"),
    "nvidia_nemo_perf_summary_24_07": ("NeMo 24.07", "GPT-3, Llama 2 and 3, Nemotron; FP8",
                                       "H100, B200; 4 to 1,024"),
    "oneflow_dlperf_v100": ("DLPerf", "OneFlow: GPT-2", "V100; 1 to 32"),
    "torchtitan_llama3": ("torchtitan", "FSDP2: Llama 2 and 3",
                          "H100, H200, A100; 8 to 256"),
    "vtrain_a100_ground_truth": ("vTrain", "Bang et al. 2024, Megatron-DeepSpeed: GPT 0.2B to 18B",
                                 "A100; 2 to 256"),
    "zero_bubble_a100": ("Zero Bubble", "Qi et al. 2024, Megatron-LM: GPT 1.5B and 15B",
                         "A100; 8 to 16"),
}

# †: the authors warn of +-40 %. ‡: tiny models, bound by the host, whose times are not judged.
MEMORY_ONLY = {"megatron_lm_ci_golden"}
MEGATRON_TABLES = {"megatron_sc21_a100"}  # of the Megatron papers
TORCH_PEAK = {"megatron_lm_ci_golden", "torchtitan_llama3"}  # publish torch's max_memory_allocated
