#include "cli/examples.h"

#include <string>

namespace plait {
namespace {

#define LLAMA_70B "scenarios/llama/llama-3.1-70b-64xh100.json"
#define LLAMA_8B "scenarios/llama/llama-3.1-8b-16xh100-hybrid.json"

struct Examples {
  const char* command;  // "" is the program
  const char* lines;
};
constexpr Examples kExamples[] = {
    {"", "  plait run " LLAMA_70B "\n"
         "  plait check " LLAMA_70B " --set strategy.recompute=none\n"
         "  plait compare " LLAMA_70B " -L strategy.tp=2,4,8\n"
         "  plait whatif " LLAMA_8B " -L cluster.inter_node.bandwidth='100 Gbit/s','400 Gbit/s'\n"
         "  plait search " LLAMA_70B "\n"},
    {"run", "  plait run " LLAMA_70B "\n"
            "  plait run " LLAMA_70B " --set strategy.tp=4 --set strategy.pp=4 --format json\n"
            "  plait run " LLAMA_70B " --set strategy.pipeline.schedule=help\n"},
    {"serve",
     "  plait serve scenarios/systems/vllm-llama-3.1-70b.json\n"
     "  plait serve scenarios/systems/vllm-llama-3.1-70b.json -L strategy.tp=2,4,8 -L "
     "strategy.pp=1,2\n"},
    {"check",
     "  plait check scenarios/llama/llama-3.1-8b-8xh100-fsdp.json --set workload.micro_batch=2\n"},
    {"compare", "  plait compare " LLAMA_70B " -L strategy.tp=2,4,8 -L strategy.pp=2,4\n"
                "  plait compare scenarios/side-by-side/*.json\n"},
    {"whatif", "  plait whatif " LLAMA_8B
               " -L cluster.inter_node.bandwidth='25 Gbit/s','100 Gbit/s','400 Gbit/s'\n"},
    {"search",
     "  plait search " LLAMA_70B "\n"
     "  plait search " LLAMA_70B " --set strategy.tp=2..8 --best 5\n"
     "  plait search " LLAMA_70B " --keep strategy.tp --objective cost\n\n"
     "Fields that the scenario leaves open (\"auto\", a list, a range) are searched; where it\n"
     "leaves none open, all of them are. mpirun -n N plait search shares the work.\n"},
    {"plan", "  plait plan scenarios/tiny/tiny-cpu.json --ops\n"},
    {"realrun",
     "  plait realrun scenarios/tiny/tiny-8xh100.json --verify\n"
     "  plait realrun scenarios/tiny/tiny-cpu.json\n"},
    {"topology", "  plait topology show hgx-h100 --nodes 128\n"},
    {"export", "  plait export " LLAMA_8B " --to accelerate\n"},
    {"list", "  plait list strategies\n  plait list devices\n"},
    {"explain", "  plait explain S010\n"},
    {"completion", "  plait completion bash\n"},
};

#undef LLAMA_70B
#undef LLAMA_8B

constexpr const char* kExitCodes =
    "\nExit codes: 0 yes, 1 the answer is no, 2 scenario or usage error, 3 environment, 4 our bug.";

}  // namespace

void add_examples(Subcommand program) {
  for (const Examples& e : kExamples) {
    const bool whole = e.command[0] == '\0';
    Subcommand at = whole ? program : program.find(e.command);
    at.footer(std::string("Examples:\n") + e.lines + (whole ? kExitCodes : ""));
  }
}

}  // namespace plait
