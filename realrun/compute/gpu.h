#pragma once
// NVIDIA GPUs as this program sees them before it knows CUDA: a plug-in (realrun/plugin.h).

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "realrun/compute/device.h"

namespace plait {

class GpuComm;                       // realrun/bench/gpu_comm.h
class GpuOverlap;                    // realrun/bench/gpu_overlap.h
class GpuTimer;                      // realrun/bench/gpu_timer.h
enum class GridSize : std::uint8_t;  // realrun/bench/extents.h
struct RunRow;
struct GpuRow;  // model/measurement.h

struct GpuOptions {
  bool tf32 = false;    // products of fp32 on tensor cores
  bool graphs = false;  // steps of one rank as CUDA graphs
  bool nccl = false;    // collectives and messages by NCCL; every rank on a GPU of its own
  bool green = false;   // ranks are threads and share the first GPU, each in a green context
};

class Gpus {
 public:
  virtual ~Gpus() = default;
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  /// "NVIDIA H200, driver 580.65": the first one.
  virtual std::string name() const = 0;
  /// Rank r computes on GPU r modulo their number.
  virtual MakeDevice device(const GpuOptions& options) const = 0;
  /// Of the first GPU, with operands of the grid's size.
  virtual std::unique_ptr<GpuTimer> timer(GridSize size) const = 0;
  /// Of NCCL between ranks with a GPU each, for these groups and collectives of up to so many
  /// bytes. Every rank calls it. Throws EnvironmentError with NCCL's words.
  virtual std::unique_ptr<GpuComm> comm(Transport& transport,
                                        const std::vector<std::vector<std::int64_t>>& groups,
                                        std::int64_t bytes) const = 0;
  /// Kernels on this rank's GPU beside communication: "nccl" between all ranks, each with a GPU;
  /// with one rank "copy", copies in the GPU's memory, or "green", kernels in another green
  /// context. Every rank calls it. Throws EnvironmentError where NCCL or the driver has none.
  virtual std::unique_ptr<GpuOverlap> overlap(const std::string& way, Transport& transport,
                                              GridSize size) const = 0;
  /// "NCCL 2.28.9". Throws EnvironmentError where there is none.
  virtual std::string comm_library() const = 0;
  /// Sets what is of the first GPU and its libraries: processor, cores, compiler, blas, quiet.
  virtual void describe(RunRow& run) const = 0;
  /// Now; GpuRow::at stays empty.
  virtual GpuRow state() const = 0;
};

/// What the plug-in exports as `plait_gpus`.
using MakeGpus = Gpus* (*)();

/// Throws EnvironmentError when this build has no CUDA, NotHere when this machine has no GPU. Does
/// not touch the driver's CUDA part, so processes may still be forked.
std::unique_ptr<Gpus> load_gpus();

}  // namespace plait
