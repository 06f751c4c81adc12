// Options of Megatron-LM that change nothing of a step: which data, numbers that kernels take, what
// is written down, and where ranks meet. Nearly every script has a dozen, among which those that
// are not read for want of a word would be lost.
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char* kSwitches[] = {"--no-mmap-bin-files",
                                     "--no-async-tensor-model-parallel-allreduce",  // ignored
                                     "--use-cpu-initialization",
                                     "--eod-mask-loss",
                                     "--log-throughput",
                                     "--log-timers-to-tensorboard",
                                     "--log-memory-to-tensorboard",
                                     "--log-validation-ppl-to-tensorboard",
                                     "--no-save-optim",
                                     "--no-save-rng",
                                     "--no-load-optim",
                                     "--no-load-rng",
                                     "--finetune",
                                     "--use-dist-ckpt",
                                     "--async-save",
                                     "--override-opt-param-scheduler"};
constexpr const char* kData[] = {
    "--data-path",       "--train-data-path", "--valid-data-path", "--test-data-path",  "--split",
    "--data-cache-path", "--dataloader-type", "--num-workers",     "--tokenizer-model", "--seed",
    "--vocab-file",      "--merge-file"};
constexpr const char* kNumbers[] = {"--min-lr",
                                    "--lr-decay-style",
                                    "--lr-decay-iters",
                                    "--lr-decay-samples",
                                    "--lr-warmup-iters",
                                    "--lr-warmup-samples",
                                    "--lr-warmup-fraction",
                                    "--lr-warmup-init",
                                    "--weight-decay",
                                    "--start-weight-decay",
                                    "--end-weight-decay",
                                    "--adam-beta1",
                                    "--adam-beta2",
                                    "--adam-eps",
                                    "--init-method-std",
                                    "--initial-loss-scale",
                                    "--min-loss-scale",
                                    "--loss-scale-window",
                                    "--hysteresis",
                                    "--rotary-base",
                                    "--norm-epsilon",
                                    "--moe-aux-loss-coeff",
                                    "--moe-z-loss-coeff",
                                    "--moe-router-load-balancing-type",
                                    "--weight-decay-incr-style"};
constexpr const char* kRecords[] = {"--save",
                                    "--load",
                                    "--save-interval",
                                    "--log-interval",
                                    "--eval-interval",
                                    "--eval-iters",
                                    "--tensorboard-dir",
                                    "--tensorboard-queue-size",
                                    "--exit-interval",
                                    "--wandb-project",
                                    "--wandb-exp-name",
                                    "--wandb-save-dir",
                                    "--wandb-entity",
                                    "--exit-duration-in-mins",
                                    "--tensorboard-log-interval"};
constexpr const char* kMeeting[] = {"--master-addr", "--master-port", "--node-rank",
                                    "--distributed-backend", "--distributed-timeout-minutes"};

}  // namespace

void pass_over_idle(Arguments& args) {
  for (const auto& name : kSwitches) args.flag(name);
  for (const auto& name : kData) args.pass_over(name);
  for (const auto& name : kNumbers) args.pass_over(name);
  for (const auto& name : kRecords) args.pass_over(name);
  for (const auto& name : kMeeting) args.pass_over(name);
}

}  // namespace plait::megatron
