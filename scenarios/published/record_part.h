#pragma once
// An object of a record of a published run. It reads members as sources write them, and keeps which
// were asked for: the others are members that nobody reads.

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace plait {

/// More than anything in a record is counted; a product of two is an integer.
inline constexpr std::int64_t kMostCounted = 1'000'000'000;

/// Throws InputError V001.
[[noreturn]] void refuse_record(const Json& at, const std::string& problem,
                                const std::string& expected);

class RecordPart {
 public:
  /// `json` is an object and outlives the part.
  explicit RecordPart(const Json& json) : json_(json) {}
  const Json& json() const { return json_; }
  const std::set<std::string, std::less<>>& asked() const { return asked_; }
  /// Its own parts that were asked for, in that order.
  const std::list<RecordPart>& parts() const { return parts_; }

  /// Members that were to be numbers, with why they are not: `mfu ("45 %" is no number above 0)`.
  const std::vector<std::string>& unusable() const { return unusable_; }

  /// The member that is an object; null where there is none. V001 where it is something else.
  RecordPart* find_part(std::string_view key);
  /// The same, or V001.
  RecordPart& part(std::string_view key);
  std::string text(std::string_view key);
  /// A text, a list of such, or yes or no, but for words that stand for its absence. A number is
  /// listed in `unusable`.
  std::string said(std::string_view key);
  /// The same where "none" is no kind of it either.
  std::string kind(std::string_view key);
  /// The words of a text, a list of texts or an object's members, for searching.
  std::string words(std::string_view key);
  /// A number, also as a text: "8".
  std::optional<double> number(std::string_view key);
  /// A measured amount, above 0. A member that is none, nor a word for its absence, is listed in
  /// `unusable`.
  std::optional<double> amount(std::string_view key);
  /// A share, or as many percent: no share of a peak is above 1. Up to 2 it may be either, and is
  /// listed in `unusable`.
  std::optional<double> share(std::string_view key);
  /// A whole number ("8,192" too) from 0 to kMostCounted, or V001; `absent` where there is none. A
  /// member that is no number, nor a word for its absence, is listed in `unusable`.
  std::int64_t count(std::string_view key, std::int64_t absent);
  /// The same, of which 0 is listed in `unusable` too.
  std::int64_t size(std::string_view key, std::int64_t absent);
  /// A count of tokens, of which "32K" are 32,768.
  std::int64_t length(std::string_view key, std::int64_t absent);
  /// Yes or no, also as a text or as 1 and 0. Another member is listed in `unusable`.
  std::optional<bool> flag(std::string_view key);

 private:
  /// The member, or null where it is absent or null.
  const Json* find(std::string_view key);
  std::optional<bool> yes_or_no(std::string_view key);
  void list_unusable(std::string_view key, const char* what);

  const Json& json_;
  std::set<std::string, std::less<>> asked_;
  std::list<RecordPart> parts_;
  std::vector<std::string> unusable_;
};

}  // namespace plait
