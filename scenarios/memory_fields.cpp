#include "scenarios/fields.h"

namespace plait {

const Table<FrameworkMemory>& memory_table() {
  using M = FrameworkMemory;
  static const Table<M> table(
      "memory",
      {
          field("context", &M::context, Amount<Bytes>{}, "Driver context and loaded kernels."),
          field("fragmentation", &M::fragmentation, Real{.min = 0, .max = 1},
                "What the allocator reserves beyond live tensors, as a fraction of them. vLLM "
                "counts none "
                "of it: the default is none there."),
          field("workspaces", &M::workspaces, Int{.min = 0, .max = 64},
                "Workspaces of cuBLAS: one for each thread that multiplies, PyTorch's of forward "
                "and backward."),
          field("workspace", &M::workspace, Amount<Bytes>{},
                "Each of these, as CUBLAS_WORKSPACE_CONFIG sets it.")
              .otherwise("32 MiB from compute capability 9.0 on, before 8.125 MiB"),
          field(
              "library_workspaces", &M::library_workspaces, Int{.min = 0, .max = 64},
              "Workspaces of libraries beside the framework: 1 for Transformer Engine's products."),
          field("step_bytes_per_parameter", &M::step_bytes_per_parameter, Real{.min = 0, .max = 64},
                "Temporaries of the optimizer step, per parameter that a rank updates."),
          field("loss_bytes_per_logit", &M::loss_bytes_per_logit, Real{.min = 0, .max = 64},
                "Copies of the logits that the loss holds beyond the plan's."),
          field("split_loss_bytes_per_logit", &M::split_loss_bytes_per_logit,
                Real{.min = -1, .max = 64},
                "The same where ranks along tp have shares of the vocabulary; -1: "
                "`loss_bytes_per_logit`."),
          field("loss_gap_bytes_per_logit", &M::loss_gap_bytes_per_logit, Real{.min = 0, .max = 64},
                "What the allocator holds free between copies of the logits, too small for one."),
          field("trees", &M::trees, Flag{},
                "NCCL before 2.22: communicators have buffers of trees too, used or not."),
          field("buckets", &M::buckets, Amount<Bytes>{}, "Flat communication buffers."),
      });
  return table;
}

}  // namespace plait
