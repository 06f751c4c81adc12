#pragma once
// What a file is that was given as a trace of torch.profiler and is none, so that the message says
// where it belongs.

#include <set>
#include <string>
#include <string_view>

#include "reports/profile/kineto.h"

namespace plait {

/// The keys at the top of a JSON file, and of "otherData".
class TopLevel {
 public:
  void add(const std::string& key) {
    if (keys_.size() < kMost) keys_.insert(key);
  }
  void add_inner(const std::string& section, const std::string& key) {
    if (section == "otherData") add("otherData." + key);
  }
  bool has(const std::string& key) const { return keys_.contains(key); }

 private:
  static constexpr std::size_t kMost = 1000;
  std::set<std::string> keys_;
};

/// Throws InputError K010 for databases, archives and what else is no JSON.
void refuse_by_first_bytes(std::string_view first, const std::string& file);
/// K010 or K011, for a text that is no JSON from a byte on, or that `ends` there.
[[noreturn]] void refuse_text(const TopLevel& top, const std::string& file, std::size_t position,
                              bool ends);
/// K011, for the event that is read last: a kernel or step without a time.
[[noreturn]] void refuse_event(const KinetoTrace& trace, const std::string& name,
                               const std::string& key, const std::string& expected);
/// K010 or K012, for JSON without anything that ran on a device.
void refuse_other_traces(const TopLevel& top, const KinetoTrace& trace);

}  // namespace plait
