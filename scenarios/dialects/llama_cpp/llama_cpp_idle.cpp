// Who may ask and where, how prompts and answers are written, how tokens are drawn, and what is
// logged (tools/server/README.md of ggml-org/llama.cpp at 00dc8057). Nearly every command has some,
// among which those that are not read for want of a word would be lost.
#include "scenarios/dialects/llama_cpp/llama_cpp_idle.h"

namespace plait::llama_cpp {
namespace {

constexpr const char* kSwitchesOfServer[] = {"--jinja",
                                             "--no-jinja",
                                             "--special",
                                             "-sp",
                                             "--metrics",
                                             "--props",
                                             "--slots",
                                             "--no-slots",
                                             "--ui",
                                             "--no-ui",
                                             "--webui",
                                             "--no-webui",
                                             "--reuse-port",
                                             "--offline",
                                             "--verbose",
                                             "-v",
                                             "--log-verbose",
                                             "--log-prefix",
                                             "--no-log-prefix",
                                             "--log-timestamps",
                                             "--no-log-timestamps",
                                             "--log-disable",
                                             "--warmup",
                                             "--no-warmup",
                                             "--cont-batching",
                                             "-cb",
                                             "--ignore-eos",
                                             "--escape",
                                             "--no-escape"};
constexpr const char* kValuesOfServer[] = {"--host",
                                           "--port",
                                           "--path",
                                           "--api-prefix",
                                           "--api-key",
                                           "--api-key-file",
                                           "--ssl-key-file",
                                           "--ssl-cert-file",
                                           "--cors-origins",
                                           "--cors-methods",
                                           "--cors-headers",
                                           "--alias",
                                           "-a",
                                           "--tags",
                                           "--timeout",
                                           "-to",
                                           "--sse-ping-interval",
                                           "--threads-http",
                                           "--chat-template",
                                           "--chat-template-file",
                                           "--chat-template-kwargs",
                                           "--reasoning-format",
                                           "--reasoning-budget",
                                           "--log-file",
                                           "--log-colors",
                                           "--verbosity",
                                           "-lv",
                                           "--log-verbosity",
                                           "--hf-token",
                                           "--slot-save-path"};
constexpr const char* kSampling[] = {"--samplers",
                                     "--sampler-seq",
                                     "--seed",
                                     "-s",
                                     "--temp",
                                     "--temperature",
                                     "--top-k",
                                     "--top-p",
                                     "--min-p",
                                     "--top-nsigma",
                                     "--top-n-sigma",
                                     "--xtc-probability",
                                     "--xtc-threshold",
                                     "--typical",
                                     "--typical-p",
                                     "--repeat-last-n",
                                     "--repeat-penalty",
                                     "--presence-penalty",
                                     "--frequency-penalty",
                                     "--dry-multiplier",
                                     "--dry-base",
                                     "--dry-allowed-length",
                                     "--dry-penalty-last-n",
                                     "--mirostat",
                                     "--mirostat-lr",
                                     "--mirostat-ent",
                                     "--logit-bias"};

}  // namespace

void pass_over_idle(Arguments& args) {
  for (const char* name : kSwitchesOfServer) args.pass_over(name);
  for (const char* name : kValuesOfServer) args.pass_over(name);
  for (const char* name : kSampling) args.pass_over(name);
}

}  // namespace plait::llama_cpp
