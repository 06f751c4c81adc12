#include "reports/serving_room.h"

#include <fmt/format.h>

#include "reports/csv.h"
#include "reports/human.h"
#include "reports/report.h"

namespace plait {
namespace {

/// Those of one engine: of a server without pools the only ones.
template <class F>
void for_each_cache(const ServingReport& r, F&& with) {
  if (r.pools.empty()) with("", r.capacity);
  for (const PoolReport& p : r.pools) with(p.name, p.capacity);
}

}  // namespace

std::string room_csv(const ServingReport& r) {
  std::string out = csv_row({"item", "bytes", "source"});
  for_each_cache(r, [&out](const std::string& pool, const CacheCapacity& c) {
    const StageRoom& room = c.stages[c.tightest];
    const std::string lead = pool.empty() ? "" : pool + "_";
    const auto add = [&](const std::string& item, std::int64_t bytes, const std::string& source) {
      out += csv_row({lead + item, fmt::format("{}", bytes), source});
    };
    for (const MemoryLine& line : memory_items(room.use)) add(line.name, line.bytes, line.source);
    add("used", room.use.bytes().value, "");
    add("cache", room.cache.value, "");
  });
  return out;
}

std::vector<Line> room_lines(const ServingReport& r) {
  std::vector<Line> out = capacity_lines(r);
  for_each_cache(r, [&out](const std::string& pool, const CacheCapacity& c) {
    const std::string whose = pool.empty() ? "" : " of " + pool;
    out.emplace_back();
    out.push_back({{"memory of the fullest device" + whose + " besides the cache", Ink::kBold}});
    for (const MemoryLine& line : memory_items(c.stages[c.tightest].use)) {
      // The step that is counted keeps a token: that is of the cache.
      if (line.bytes == 0 || line.name == "kv_cache") continue;
      out.push_back({{"  " + pad_right(human_words(line.name), 26)},
                     {pad_left(human_bytes(line.bytes), 12)}});
    }
  });
  return out;
}

}  // namespace plait
