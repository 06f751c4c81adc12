// Settings as text: arguments, TOML, YAML, JSON, and the scripts that start them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

/// Names and other texts of a scenario end no comment: control characters become spaces, and so do
/// the line breaks that YAML has besides (YAML 1.1, 5.4: NEL, LS, PS).
std::string comment(std::string_view what, std::string text) {
  for (const std::string_view wide : {"\u0085", "\u2028", "\u2029"}) {
    for (std::size_t at; (at = text.find(wide)) != std::string::npos;) {
      text.replace(at, wide.size(), " ");
    }
  }
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return fmt::format("# {}: {}\n", what, text);
}

std::string heading(const Settings& s) {
  return comment(row_of(s.dialect).name, std::string(row_of(s.dialect).target)) +
         comment("scenario", s.scenario);
}

std::string closing(const Settings& s) {
  std::string out;
  if (!s.asked.empty()) out = comment("to be added", fmt::format("{}", fmt::join(s.asked, "; ")));
  const std::string unsaid = fmt::format("{}", fmt::join(s.unsaid, "; "));
  return out + comment("not represented", unsaid.empty() ? "nothing" : unsaid);
}

std::string argument(const Setting& s) {
  return s.value.empty() ? s.key : s.key.empty() ? s.value : s.key + " " + s.value;
}

std::string arguments(const Settings& s) {
  std::string out;
  for (const Setting& setting : s.settings) out += argument(setting) + "\n";
  return out;
}

/// PROGRAM MODEL --option value ..., or such a command for each section.
std::string command(const Settings& s, const std::string& program) {
  std::string out, section;
  for (const Setting& setting : s.settings) {
    const bool begins = out.empty() || setting.section != section;
    section = setting.section;
    if (begins && !section.empty()) {
      out += fmt::format("{}# the {} instances\n", out.empty() ? "" : "\n\n", section);
    }
    if (begins) out += program;
    out += (setting.key.empty() ? " " : " \\\n  ") + argument(setting);
  }
  return out + "\n";
}

/// Instructions, and in comments how the server starts and takes them.
std::string modelfile(const Settings& s) {
  std::string instructions, variables;
  for (const Setting& setting : s.settings) {
    if (setting.section == "environment") {
      variables += fmt::format("{}={} ", setting.key, setting.value);
    } else {
      const std::string kind = setting.section.empty() ? "" : setting.section + " ";
      instructions += fmt::format("{}{}\n", kind, argument(setting));
    }
  }
  return fmt::format("# {}ollama serve\n# ollama create NAME -f MODELFILE\n{}", variables,
                     instructions);
}

std::string toml(const Settings& s) {
  std::string out, section;
  for (const Setting& setting : s.settings) {
    if (setting.section != section) {
      section = setting.section;
      out += fmt::format("\n[{}]\n", section);
    }
    out += fmt::format("{} = {}\n", setting.key, setting.value);
  }
  return out;
}

std::string yaml(const Settings& s) {
  std::string out, section;
  for (const Setting& setting : s.settings) {
    if (setting.section != section) out += setting.section + ":\n";
    section = setting.section;
    out += fmt::format("{}{}: {}\n", section.empty() ? "" : "  ", setting.key, setting.value);
  }
  return out;
}

/// JSON has no comments: keys that DeepSpeed does not know take their place.
std::string json_text(const Settings& s) {
  using Tree = nlohmann::ordered_json;
  Tree out = {{"_dialect", fmt::format("{}: {}", row_of(s.dialect).name, row_of(s.dialect).target)},
              {"_scenario", s.scenario}};
  for (const Setting& setting : s.settings) {
    Tree& at = setting.section.empty() ? out : out[setting.section];
    at[setting.key] = Tree::parse(setting.value);
  }
  if (!s.asked.empty()) out["_to_be_added"] = s.asked;
  out["_not_represented"] = s.unsaid;
  return out.dump(2) + "\n";
}

// ---- Scripts ----

std::string batch_header(const Settings& s) {
  return fmt::format(
      "#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n",
      s.hosts, s.devices_per_host);
}

/// One torchrun on each host; they meet on the first.
std::string torchrun(const Settings& s, Launcher launcher, const std::string& program) {
  const bool slurm = launcher == Launcher::kSlurm;
  const bool alone = s.hosts == 1 && !slurm;
  std::string out;
  if (slurm) out += "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n";
  out += fmt::format("{}torchrun --nnodes {} --nproc_per_node {} \\\n", slurm ? "srun " : "",
                     s.hosts, s.devices_per_host);
  out +=
      alone ? "  --standalone \\\n"
            : "  --rdzv_backend c10d --rdzv_endpoint \"${MASTER_ADDR}:${MASTER_PORT:-29500}\" \\\n";
  return out + "  " + program + "\n";
}

bool has(const Settings& s, std::string_view key) {
  for (const Setting& setting : s.settings) {
    if (setting.key == key) return true;
  }
  return false;
}

std::string megatron_script(const Settings& s, Launcher launcher) {
  std::string out = "ARGUMENTS=(\n";
  for (const Setting& setting : s.settings) out += "  " + argument(setting) + "\n";
  out += ")\n";
  // arguments.py wants it with tensor or context parallelism before Blackwell, and refuses it with
  // FSDP.
  if (!has(s, "--use-megatron-fsdp")) out += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  const char* program = has(s, "--is-hybrid-model") ? "pretrain_mamba.py" : "pretrain_gpt.py";
  return out + torchrun(s, launcher, fmt::format("{} \"${{ARGUMENTS[@]}}\"", program));
}

std::string torchtitan_script(const Settings& s, Launcher launcher) {
  return "CONFIG=$PWD/train.toml\ncat >\"$CONFIG\" <<'END'" + toml(s) + "END\n" +
         torchrun(s, launcher, "-m torchtitan.train --job.config_file \"$CONFIG\"");
}

std::string script(const Settings& s, Launcher launcher) {
  const bool megatron = s.dialect == Dialect::kMegatronCore;
  return "#!/usr/bin/env bash\n" + (launcher == Launcher::kSlurm ? batch_header(s) : "") +
         heading(s) + "set -euo pipefail\n" +
         (megatron ? megatron_script(s, launcher) : torchtitan_script(s, launcher)) + closing(s);
}

}  // namespace

std::string render(const Settings& s, Launcher launcher) {
  if (launcher != Launcher::kNone) return script(s, launcher);
  switch (s.dialect) {
    case Dialect::kMegatronCore: return heading(s) + arguments(s) + closing(s);
    case Dialect::kDeepSpeed: return json_text(s);
    case Dialect::kTorchtitan: return heading(s) + toml(s) + closing(s);
    case Dialect::kAccelerate: return heading(s) + yaml(s) + closing(s);
    case Dialect::kVllm: return heading(s) + command(s, "vllm serve") + closing(s);
    case Dialect::kLlamaCpp: return heading(s) + command(s, "llama-server") + closing(s);
    case Dialect::kOllama: return heading(s) + modelfile(s) + closing(s);
    case Dialect::kPeft: break;  // which is only read
  }
  return "";
}

}  // namespace plait
