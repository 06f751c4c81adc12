// Who may ask and where, how prompts and answers are written, what is logged, where weights are
// from and how hosts meet (vllm/entrypoints/openai/cli_args.py, vllm/engine/arg_utils.py,
// vllm/envs.py). Nearly every command has some, among which those that are not read for want of a
// word would be lost.
#include "scenarios/dialects/vllm/vllm_idle.h"

#include <algorithm>
#include <iterator>

namespace plait::vllm {
namespace {

constexpr std::string_view kSwitches[] = {"--trust-remote-code",
                                          "--no-trust-remote-code",
                                          "--disable-log-requests",
                                          "--no-enable-log-requests",
                                          "--enable-log-requests",
                                          "--enable-log-outputs",
                                          "--disable-log-stats",
                                          "--disable-uvicorn-access-log",
                                          "--disable-fastapi-docs",
                                          "--enable-auto-tool-choice",
                                          "--enable-reasoning",
                                          "--enable-prompt-tokens-details",
                                          "--enable-request-id-headers",
                                          "--enable-server-load-tracking",
                                          "--enable-ssl-refresh",
                                          "--allow-credentials",
                                          "--headless"};
constexpr std::string_view kValues[] = {"--host",
                                        "--port",
                                        "--uds",
                                        "--root-path",
                                        "--api-key",
                                        "--ssl-keyfile",
                                        "--ssl-certfile",
                                        "--ssl-ca-certs",
                                        "--allowed-origins",
                                        "--allowed-methods",
                                        "--allowed-headers",
                                        "--middleware",
                                        "--served-model-name",
                                        "--chat-template",
                                        "--chat-template-content-format",
                                        "--default-chat-template-kwargs",
                                        "--response-role",
                                        "--reasoning-parser",
                                        "--tool-call-parser",
                                        "--tool-parser-plugin",
                                        "--tool-server",
                                        "--generation-config",
                                        "--override-generation-config",
                                        "--tokenizer",
                                        "--tokenizer-mode",
                                        "--tokenizer-revision",
                                        "--revision",
                                        "--code-revision",
                                        "--hf-token",
                                        "--download-dir",
                                        "--seed",
                                        "--uvicorn-log-level",
                                        "--log-config-file",
                                        "--max-log-len",
                                        "--node-rank",
                                        "--master-addr",
                                        "--master-port",
                                        "--data-parallel-address",
                                        "--data-parallel-rpc-port",
                                        "--data-parallel-start-rank"};
constexpr std::string_view kVariables[] = {"VLLM_API_KEY",
                                           "VLLM_HOST_IP",
                                           "VLLM_PORT",
                                           "VLLM_LOGGING_LEVEL",
                                           "VLLM_CONFIGURE_LOGGING",
                                           "VLLM_LOGGING_CONFIG_PATH",
                                           "VLLM_NO_USAGE_STATS",
                                           "VLLM_DO_NOT_TRACK",
                                           "VLLM_CACHE_ROOT",
                                           "VLLM_CONFIG_ROOT",
                                           "VLLM_ASSETS_CACHE",
                                           "VLLM_RPC_TIMEOUT",
                                           "VLLM_ENGINE_READY_TIMEOUT_S"};

}  // namespace

void pass_over_idle(Arguments& args) {
  for (const std::string_view name : kSwitches) args.flag(name);
  for (const std::string_view name : kValues) args.pass_over(name);
}

bool is_idle_variable(const std::string& name) {
  return std::ranges::find(kVariables, name) != std::end(kVariables);
}

}  // namespace plait::vllm
