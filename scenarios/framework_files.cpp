#include "scenarios/framework_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/spelling.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

std::string as_set(const Tree& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<FrameworkInstead> instead_in(const Tree& json) {
  std::vector<FrameworkInstead> out;
  for (const Tree& entry : json.value("instead", Tree::array())) {
    FrameworkInstead& other = out.emplace_back();
    other.profile = entry.at("profile"), other.source = entry.at("source");
    for (const auto& [path, values] : entry.at("where").items()) {
      auto& said = other.where.emplace_back();
      said.path = path;
      std::ranges::transform(values, std::back_inserter(said.values), as_set);
    }
  }
  return out;
}

Framework parsed(const std::string& name, const Tree& json) {
  Framework out{name, json.at("title").get<std::string>(), instead_in(json), {}, {}};
  const auto offers = json.value("offers", Tree::object());
  for (const auto& [path, entry] : offers.items()) {
    FrameworkOffer& offer = out.offers.emplace_back();
    offer.path = path, offer.source = entry.at("source").get<std::string>();
    offer.of_mixtures = entry.value("of_mixtures", false);
    std::ranges::transform(entry.at("values"), std::back_inserter(offer.values), as_set);
  }
  for (const auto& [path, entry] : json.at("defaults").items()) {
    const auto& value = entry.at("value");
    const auto with_fp16 = entry.find("value_with_fp16");
    out.defaults.push_back({path, value.dump(), entry.at("source").get<std::string>(),
                            with_fp16 == entry.end() ? "" : with_fp16->dump(),
                            entry.value("where_split", std::vector<std::string>{}),
                            entry.value("where_absent", std::vector<std::string>{})});
  }
  return out;
}

class ProfileFiles {
 public:
  explicit ProfileFiles(const std::vector<CatalogueEntry>& files) {
    for (const CatalogueEntry& file : files) {
      names_.emplace_back(file.name);
      files_.emplace(file.name, Tree::parse(file.json));
    }
  }

  std::vector<Framework> all() {
    std::vector<Framework> out;
    for (const std::string& name : names_) out.push_back(parsed(name, whole(name)));
    return out;
  }

 private:
  /// With what its base says. `trail_` has those that are being made whole.
  const Tree& whole(const std::string& name) {
    const auto done = whole_.find(name);
    if (done != whole_.end()) return done->second;
    const Tree& own = files_.at(name);
    Tree out = own;
    if (own.contains("base")) {
      trail_.push_back(name);
      const std::string base = own.at("base").get<std::string>();
      require(name, base);
      out = merged(name, own, whole(base));
      trail_.pop_back();
    }
    return whole_.emplace(name, std::move(out)).first->second;
  }
  void require(const std::string& name, const std::string& base) const {
    if (!files_.contains(base)) {
      const std::string meant = did_you_mean(base, names_);
      refuse(name, fmt::format("a base that is no profile: {}", base),
             "the name of another profile", meant.empty() ? "see plait list frameworks" : meant);
    }
    const auto first = std::ranges::find(trail_, base);
    if (first == trail_.end()) return;
    const std::vector<std::string> circle(first, trail_.end());
    refuse(name,
           fmt::format("profiles that build on one another: {}, {}", fmt::join(circle, ", "), base),
           "a base that does not build on this profile in turn", "take one of these bases away");
  }
  static Tree merged(const std::string& name, const Tree& own, const Tree& base) {
    Tree out = base;
    out["title"] = own.at("title");
    if (own.contains("instead")) out["instead"] = own.at("instead");
    for (const char* part : {"offers", "defaults"}) {
      const Tree entries = own.value(part, Tree::object());
      Tree& to = out[part];
      if (to.is_null()) to = Tree::object();
      for (const auto& [path, entry] : entries.items()) {
        if (!entry.is_null()) {
          to[path] = entry;
        } else if (to.erase(path) == 0) {
          refuse(name, fmt::format("null for {} of {}, which the base does not say", path, part),
                 "null for what is to be taken away", "leave it out");
        }
      }
    }
    return out;
  }
  [[noreturn]] static void refuse(const std::string& name, std::string problem,
                                  std::string expected, std::string cure) {
    throw InputError(
        {.code = "C016",
         .problem = std::move(problem),
         .where = {fmt::format("topologies/catalogue/frameworks/{}.json", name), 0, 0, "base"},
         .expected = std::move(expected),
         .cure = std::move(cure)});
  }

  std::vector<std::string> names_, trail_;
  std::map<std::string, Tree, std::less<>> files_, whole_;
};

}  // namespace

std::vector<Framework> frameworks_of(const std::vector<CatalogueEntry>& files) {
  return ProfileFiles(files).all();
}

}  // namespace plait
