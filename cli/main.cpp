// plait: how a transformer trains or serves when it is split over many GPUs. Subcommands in their
// own files; here the command line is taken apart and errors become exit codes: 2 the user's, 3 the
// machine's, 4 ours.

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/commands.h"
#include "cli/examples.h"
#include "cli/work_in_hand.h"
#include "core/error.h"
#include "core/large_pages.h"
#include "core/new_file.h"
#include "plait_version.h"

namespace {

using plait::Command;

/// A word as a shell would need it typed.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

std::string command_line(int argc, char** argv) {
  std::string line = "plait";
  for (int i = 1; i < argc; ++i) line += " " + shell_word(argv[i]);
  return line;
}

/// Plans and timelines of one layout after another take about as much: glibc would give their pages
/// back to the system each time, and the next layout would wait for new ones. The first ones, more
/// than most searches need, are large.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the most that it takes
  mallopt(M_TRIM_THRESHOLD, 1024 * kMiB);
  mallopt(M_TOP_PAD, 16 * kMiB);
  plait::allocate_on_large_pages(std::size_t{300} * kMiB);
#endif
}

/// Ctrl-C, or a batch system whose time is over: nothing half-written stays behind, and what was
/// being done is said.
void end_by(int signal) {
  plait::remove_unfinished_files();
  plait::say_interrupted();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// A signal that is ignored (nohup) stays so.
void end_cleanly_by(int signal) {
  if (std::signal(signal, end_by) == SIG_IGN) std::signal(signal, SIG_IGN);
}

int report(const char* what, const char* more, int code) {
  std::fprintf(stderr, "%s\n%s", what, more);
  return code;
}

int plait_main(int argc, char** argv) {
  plait::CommandLine parser(
      "plait", std::string(plait::kVersion),
      "Predicts how a transformer trains or serves when it is split over many GPUs.");
  Command command{parser.program(), command_line(argc, argv), {argv, argv + argc}};
  plait::add_run(command);
  plait::add_serve(command);
  plait::add_check(command);
  plait::add_compare(command);
  plait::add_whatif(command);
  plait::add_search(command);
  plait::add_profile(command);
  plait::add_validate(command);
  plait::add_plan(command);
  plait::add_realrun(command);
  plait::add_bench(command);
  plait::add_calibrate(command);
  plait::add_topology(command);
  plait::add_export(command);
  plait::add_import(command);
  plait::add_list(command);
  plait::add_schema(command);
  plait::add_explain(command);
  plait::add_completion(command);
  plait::add_man(command);
  plait::add_help(command);
  plait::add_version(command);
  plait::add_examples(command.program);
  if (argc == 1) return report(parser.help().c_str(), "", plait::kUsage);
  return parser.run(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  // `plait run x | head -1`: a closed pipe is an error of write(), not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  end_cleanly_by(SIGINT), end_cleanly_by(SIGTERM);
  keep_freed_memory();
  constexpr const char* kOurs = "This is a bug in plait. Please report it with the command line.\n";
  try {
    return plait_main(argc, argv);
  } catch (const plait::InputError& e) {
    return report(e.what(), "", plait::kUsage);
  } catch (const plait::EnvironmentError& e) {
    return report((std::string("error: ") + e.what()).c_str(), "", plait::kEnvironment);
  } catch (const std::system_error& e) {  // no more threads, locks or files
    return report((std::string("error: ") + e.what()).c_str(), "", plait::kEnvironment);
  } catch (const std::bad_alloc&) {
    return report("error: out of memory", "", plait::kEnvironment);
  } catch (const std::exception& e) {
    return report(e.what(), kOurs, plait::kInternal);
  }
}
