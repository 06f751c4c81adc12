#include "realrun/compute/cuda/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "realrun/not_here.h"

namespace plait::cuda {
namespace {

// Of nvml.h, which not every toolkit has: NVML API reference, "Device Queries". All return 0
// (NVML_SUCCESS) or an error.
using Plain = int (*)();
using Count = int (*)(unsigned*);
using Handle = int (*)(unsigned, void**);
using ByName = int (*)(const char*, void**);
using Text = int (*)(char*, unsigned);
using DeviceText = int (*)(void*, char*, unsigned);
using DeviceNumber = int (*)(void*, unsigned*);
using DeviceKind = int (*)(void*, unsigned, unsigned*);
using DeviceBits = int (*)(void*, unsigned long long*);
constexpr unsigned kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr unsigned kCoreSensor = 0;                 // nvmlTemperatureSensors_t

template <class F>
F as(void* symbol) {
  return reinterpret_cast<F>(symbol);
}

}  // namespace

std::string visible_device(const char* visible, int device) {
  if (visible == nullptr) return std::to_string(device);
  const std::string list(visible);
  std::size_t begin = 0;
  for (int i = 0; i < device && begin != std::string::npos; ++i) {
    begin = list.find(',', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos) return std::to_string(device);
  const std::string name = list.substr(begin, list.find(',', begin) - begin);
  return name.empty() ? std::to_string(device) : name;
}

Nvml::Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  if (library_ == nullptr) throw NotHere("no NVIDIA driver on this machine");
  const auto start = as<Plain>(find("nvmlInit_v2"));
  const auto count = as<Count>(find("nvmlDeviceGetCount_v2"));
  unsigned n = 0;
  const bool works = start != nullptr && count != nullptr && start() == 0 && count(&n) == 0;
  devices_ = static_cast<int>(n);
  if (works && devices_ > 0) return;
  dlclose(library_);
  throw NotHere(works ? "no NVIDIA GPU on this machine" : "the NVIDIA driver does not answer");
}

Nvml::~Nvml() {
  if (const auto stop = as<Plain>(find("nvmlShutdown"))) stop();
  dlclose(library_);
}

void* Nvml::find(const char* symbol) const { return dlsym(library_, symbol); }

void* Nvml::handle(int device) const {
  void* out = nullptr;
  const std::string name = visible_device(std::getenv("CUDA_VISIBLE_DEVICES"), device);
  const bool is_number = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number) {
    const auto by_name = as<ByName>(find("nvmlDeviceGetHandleByUUID"));
    if (by_name != nullptr && by_name(name.c_str(), &out) == 0) return out;
  }
  const bool is_index = is_number && name.size() < 4;
  const auto index = static_cast<unsigned>(is_index ? std::stoul(name) : 0);
  const auto get = as<Handle>(find("nvmlDeviceGetHandleByIndex_v2"));
  if (get != nullptr) get(index, &out);
  return out;
}

std::string Nvml::driver() const {
  std::array<char, 96> text{};
  const auto get = as<Text>(find("nvmlSystemGetDriverVersion"));
  if (get != nullptr) get(text.data(), text.size());
  return text.data();
}

std::string Nvml::name(int device) const {
  std::array<char, 96> text{};
  const auto get = as<DeviceText>(find("nvmlDeviceGetName"));
  if (get != nullptr) get(handle(device), text.data(), text.size());
  return text.data();
}

GpuState Nvml::state(int device) const {
  GpuState out;
  void* const gpu = handle(device);
  unsigned value = 0;
  const auto clock = as<DeviceKind>(find("nvmlDeviceGetClockInfo"));
  if (clock != nullptr && clock(gpu, kSmClock, &value) == 0) {
    out.sm_clock_mhz = static_cast<int>(value);
  }
  if (clock != nullptr && clock(gpu, kMemoryClock, &value) == 0) {
    out.memory_clock_mhz = static_cast<int>(value);
  }
  const auto temperature = as<DeviceKind>(find("nvmlDeviceGetTemperature"));
  if (temperature != nullptr && temperature(gpu, kCoreSensor, &value) == 0) {
    out.temperature_c = static_cast<int>(value);
  }
  const auto power = as<DeviceNumber>(find("nvmlDeviceGetPowerUsage"));
  if (power != nullptr && power(gpu, &value) == 0) {
    out.power_w = static_cast<double>(value) * 1e-3;  // milliwatts
  }
  const auto reasons = as<DeviceBits>(find("nvmlDeviceGetCurrentClocksEventReasons"));
  unsigned long long bits = 0;
  if (reasons != nullptr && reasons(gpu, &bits) == 0) out.throttled = bits;
  return out;
}

}  // namespace plait::cuda
