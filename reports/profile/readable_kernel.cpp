#include "reports/profile/readable_kernel.h"

#include <algorithm>
#include <cctype>

namespace plait {
namespace {

constexpr std::string_view kUnnamed = "(anonymous namespace)";

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// What kernels of most kinds have among their template arguments: types, and wrappers of what they
// do (aten/src/ATen/native/cuda/{Loops,CUDALoops,Reduce,MultiTensorApply}.cuh, CUTLASS, CuTe).
constexpr std::string_view kSaysNothing[] = {"at",
                                             "c10",
                                             "native",
                                             "cuda",
                                             "templates",
                                             "std",
                                             "array",
                                             "char",
                                             "float",
                                             "double",
                                             "int",
                                             "long",
                                             "short",
                                             "bool",
                                             "void",
                                             "unsigned",
                                             "signed",
                                             "const",
                                             "true",
                                             "false",
                                             "BFloat16",
                                             "Half",
                                             "uint4",
                                             "ReduceOp",
                                             "Array",
                                             "detail",
                                             "anonymous",
                                             "namespace",
                                             "lambda",
                                             "operator",
                                             "cutlass",
                                             "cute",
                                             "cub",
                                             "gpu_kernel_impl_nocast",
                                             "gpu_kernel_impl",
                                             "TensorIteratorBase",
                                             "TensorListMetadata",
                                             "OpaqueType",
                                             "FusedOptimizerTensorListMetadata",
                                             "func_wrapper_t",
                                             "bfloat16_t",
                                             "__nv_bfloat16",
                                             "TrivialOffsetCalculator",
                                             "OffsetCalculator",
                                             "BinaryFunctor",
                                             "BUnaryFunctor",
                                             "AUnaryFunctor",
                                             "binary_internal",
                                             "opmath_gpu_kernel_with_scalars",
                                             "policy_hub",
                                             "__half",
                                             "BinaryOpScalarTensorFunctor",
                                             "BinaryOpScalarFunctor",
                                             "UnaryOpFunctor"};

// CUTLASS's kernels are one template: what they do is its argument.
constexpr std::string_view kWrappers[] = {"Kernel", "Kernel2", "device_kernel"};

bool tells(std::string_view word) {
  return std::isdigit(static_cast<unsigned char>(word.front())) == 0 && word.size() > 2 &&
         !word.starts_with("enable_") &&
         std::ranges::find(kSaysNothing, word) == std::end(kSaysNothing);
}

/// Where the name proper ends: before its template arguments or parameters.
std::size_t end_of_name(std::string_view name) {
  std::size_t end = 0;
  for (; end < name.size(); ++end) {  // "Memset (Device)" is a name
    while (name.substr(end).starts_with(kUnnamed)) end += kUnnamed.size();
    if (end < name.size() &&
        (name[end] == '<' || (name[end] == '(' && end > 0 && name[end - 1] != ' '))) {
      break;
    }
  }
  return std::min(end, name.size());
}

std::string_view without_result(std::string_view name) {
  constexpr std::string_view kVoid = "void ";
  return name.starts_with(kVoid) ? name.substr(kVoid.size()) : name;
}

/// The first word of template arguments that tells; "" where there is none.
std::string_view telling_word(std::string_view arguments) {
  for (std::size_t at = 0; at < arguments.size();) {
    if (!is_letter(arguments[at])) {
      ++at;
      continue;
    }
    const auto end = std::find_if_not(arguments.begin() + static_cast<std::ptrdiff_t>(at),
                                      arguments.end(), is_letter);
    const auto size = static_cast<std::size_t>(end - arguments.begin()) - at;
    const std::string_view word = arguments.substr(at, size);
    at += size;
    if (tells(word) && !arguments.substr(at).starts_with("::")) return word;
  }
  return "";
}

/// The template arguments behind a name, to their closing bracket.
std::string_view arguments_of(std::string_view name, std::size_t end) {
  if (end == name.size() || name[end] != '<') return "";
  int depth = 0;
  for (std::size_t at = end; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
    if (depth == 0) return name.substr(end, at - end);
  }
  return name.substr(end);
}

}  // namespace

std::string bare_kernel(std::string_view name) {
  name = without_result(name);
  const std::size_t end = end_of_name(name);
  const std::string_view path = name.substr(0, end);
  const std::size_t colon = path.rfind("::");
  const std::string_view bare = colon == std::string_view::npos ? path : path.substr(colon + 2);
  if (std::ranges::find(kWrappers, bare) != std::end(kWrappers)) {
    const std::string_view within = telling_word(arguments_of(name, end));
    if (!within.empty()) return std::string(within);
  }
  // cuDNN's generated kernels: behind "knob" stand the number of the engine and its tiles.
  constexpr std::string_view kGenerated = "cudnn_generated_fort_";
  if (!bare.starts_with(kGenerated)) return std::string(bare);
  const std::string_view rest = bare.substr(kGenerated.size());
  return "cudnn_" + std::string(rest.substr(0, rest.find("_knob_")));
}

std::string readable_kernel(std::string_view name) {
  name = without_result(name);
  const std::string_view word = telling_word(arguments_of(name, end_of_name(name)));
  std::string out = bare_kernel(name);
  return word.empty() || word == out ? out : out + "<" + std::string(word) + ">";
}

}  // namespace plait
