#include "topologies/reported_names.h"

#include <algorithm>
#include <array>
#include <set>

namespace plait {
namespace {

struct ReportedName {
  std::string_view name, device;
};

// NVIDIA/open-gpu-kernel-modules, README, "Compatible GPUs"; Tesla ones: the Linux driver's README,
// appendix A; B300: torch.cuda.get_device_name in reports of flashinfer. Names that stand for
// several devices ("NVIDIA H100", of 64 and of 96 GB) are left out.
constexpr auto kReported = std::to_array<ReportedName>({
    {"NVIDIA A10", "a10"},
    {"NVIDIA A10G", "a10g"},
    {"NVIDIA A30", "a30"},
    {"NVIDIA A40", "a40"},
    {"NVIDIA A100-SXM4-40GB", "a100-40-sxm"},
    {"NVIDIA A100-SXM4-80GB", "a100-80-sxm"},
    {"NVIDIA A100-PCIE-40GB", "a100-40-pcie"},
    {"NVIDIA A100 80GB PCIe", "a100-80-pcie"},
    {"NVIDIA A800-SXM4-80GB", "a800-80-sxm"},
    {"NVIDIA A800 80GB PCIe", "a800-80-pcie"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H100 NVL", "h100-nvl"},
    {"NVIDIA H800", "h800-sxm"},
    {"NVIDIA H800 PCIe", "h800-pcie"},
    {"NVIDIA H20", "h20-sxm"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA H200 NVL", "h200-nvl"},
    {"NVIDIA GH200 120GB", "gh200-96"},
    {"NVIDIA GH200 480GB", "gh200-96"},
    {"NVIDIA GH200 144G HBM3e", "gh200-144"},
    {"NVIDIA B200", "b200"},
    {"NVIDIA B300 SXM6 AC", "b300"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA GB300", "gb300"},
    {"NVIDIA GB10", "gb10"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA L40", "l40"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA GeForce RTX 3090", "rtx-3090"},
    {"NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"},
    {"NVIDIA GeForce RTX 4080", "rtx-4080"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090"},
    {"NVIDIA GeForce RTX 5060 Ti", "rtx-5060-ti"},
    {"NVIDIA GeForce RTX 5080", "rtx-5080"},
    {"NVIDIA GeForce RTX 5090", "rtx-5090"},
    {"NVIDIA TITAN RTX", "titan-rtx"},
    {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
    {"NVIDIA RTX A6000", "rtx-a6000"},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
    {"Tesla T4", "t4"},
    {"Tesla V100-PCIE-16GB", "v100-pcie-16"},
    {"Tesla V100-PCIE-32GB", "v100-pcie-32"},
    {"Tesla V100S-PCIE-32GB", "v100s-pcie-32"},
    {"Tesla V100-SXM2-16GB", "v100-sxm2-16"},
    {"Tesla V100-SXM2-32GB", "v100-sxm2-32"},
    {"Tesla V100-SXM3-32GB", "v100-sxm3-32"},
});

}  // namespace

std::optional<std::string_view> device_reported_as(std::string_view name) {
  const auto* const found = std::ranges::find(kReported, name, &ReportedName::name);
  if (found == kReported.end()) return std::nullopt;
  return found->device;
}

std::vector<std::string> devices_reported_like(std::string_view name) {
  constexpr std::string_view kDots = "...", kMaker = "NVIDIA ";
  const bool cut_off = name.ends_with(kDots);
  if (cut_off) name.remove_suffix(kDots.size());
  while (name.ends_with(' ')) name.remove_suffix(1);
  std::set<std::string> out;
  for (const ReportedName& r : kReported) {
    std::string_view rest = r.name;
    if (rest.starts_with(kMaker) && !name.starts_with(kMaker)) rest.remove_prefix(kMaker.size());
    const bool like = cut_off ? !name.empty() && rest.starts_with(name) : rest == name;
    if (like) out.emplace(r.device);
  }
  return {out.begin(), out.end()};
}

}  // namespace plait
