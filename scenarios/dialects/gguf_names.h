#pragma once
// What the name of a GGUF file or repository says: ggml's docs/gguf.md (BaseName-SizeLabel-...-
// Encoding.gguf), and [:quant] behind --hf-repo.

#include <string>
#include <string_view>

namespace plait::llama_cpp {

/// "llama-2-7b", "q4_0" and "q6_k" of "Llama-2-7B.Q4_0.gguf" or "user/Llama-2-7B-GGUF:Q4_0".
struct GgufName {
  std::string preset;         // "": none of that name
  std::string encoding;       // in small letters, "q4_k_m"; "": the name does not say
  std::string weights, head;  // as scenarios write them; "": the encoding has no such format
  std::string experts;        // where theirs differs
  std::string dtype;          // of files that are not quantised
};
GgufName gguf_name(std::string_view name);

}  // namespace plait::llama_cpp
