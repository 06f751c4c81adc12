#pragma once
// What the pictures of a page about serving are drawn from.

#include <string>
#include <vector>

#include "serving/requests.h"
#include "serving/serve.h"

namespace plait {

/// The requests, in the order of arrival, as columns: `arrival_s`, `first_token_s` and `finish_s`
/// (from the first arrival on, to the microsecond), `output_tokens` and `kind`, an index into
/// `kinds`. Of more than `most` every n-th; `of` says how many there were.
std::string requests_json(const std::vector<Request>& requests, const Service& service,
                          const std::vector<RequestKind>& kinds, std::size_t most = 20'000);

}  // namespace plait
