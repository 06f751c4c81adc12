#pragma once
// What the name of a GGUF file or repository says: ggml's docs/gguf.md (BaseName-SizeLabel-...-
// Encoding-Shard.gguf), and [:quant] behind --hf-repo.

#include <cstdint>
#include <string>
#include <string_view>

namespace plait::llama_cpp {

/// "llama-2-7b", "q4_0" and "q6_k" of "Llama-2-7B.Q4_0.gguf" or "user/Llama-2-7B-GGUF:Q4_0".
struct GgufName {
  std::string preset;          // "": none of that name
  std::int64_t positions = 0;  // where it has others than the preset
  std::string encoding;        // in small letters, "q4_k_m"; "": the name does not say
  std::string weights, head;   // as scenarios write them; "": no encoding that is known
  std::string experts;         // where theirs differs
  std::string dtype;           // of files that are not quantised
};
/// `encoding`: what the file has where the name does not say; "": that is not known either.
GgufName gguf_name(std::string_view name, std::string_view encoding = "");

}  // namespace plait::llama_cpp
