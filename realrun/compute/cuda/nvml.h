#pragma once
// NVIDIA's management library, loaded where it is: facts of GPUs and how they do right now, without
// starting CUDA in this process.

#include <cstdint>
#include <string>

namespace plait::cuda {

/// Now, of one GPU; 0 where the library does not say.
struct GpuState {
  int sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0;
  std::uint64_t throttled = 0;  // nvmlClocksEventReasons
};

/// What NVML, which counts all GPUs of a machine, has for CUDA's device of this number where
/// CUDA_VISIBLE_DEVICES is `visible`, null: unset. A number, or a name as "GPU-8932f937-...". (CUDA
/// programming guide, environment variables; GPUs of different speeds CUDA numbers in another
/// order unless CUDA_DEVICE_ORDER is PCI_BUS_ID.)
std::string visible_device(const char* visible, int device);

class Nvml {
 public:
  /// Throws NotHere when there is no driver or no GPU.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  int devices() const { return devices_; }
  std::string driver() const;
  std::string name(int device) const;
  GpuState state(int device) const;

 private:
  void* find(const char* symbol) const;
  void* handle(int device) const;

  void* library_ = nullptr;
  int devices_ = 0;
};

}  // namespace plait::cuda
