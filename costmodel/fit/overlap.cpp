#include "costmodel/fit/overlap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "costmodel/fit/judgement.h"
#include "costmodel/held_multiprocessors.h"
#include "model/op_json.h"

namespace plait {
namespace {

using OverlapRows = std::vector<const OverlapRow*>;

bool is_nccl(const OverlapRow& row) { return row.transport.starts_with("nccl"); }
bool is_over_nodes(const OverlapRow& row) { return row.transport != "nccl"; }

/// log(beside / alone).
double slowdown(const Spread& alone, const Spread& beside) {
  return std::log(beside.median / alone.median);
}

/// Of the multiprocessors, in [0, 1): the least squares of logarithms are their mean.
double share_held(const OverlapRows& rows) {
  double sum = 0, products = 0;
  for (const OverlapRow* row : rows) {
    if (!uses_matrix_units(row->op)) continue;
    sum += slowdown(row->compute_alone, row->compute_beside), ++products;
  }
  return products > 0 ? 1 - std::exp(-std::max(sum / products, 0.0)) : 0;
}

/// Collectives over several nodes count together, however many these are.
std::string name_of_rows(const OverlapRow& row) {
  return is_nccl(row) ? "nccl " + held_key(row.communication, is_over_nodes(row))
                      : row.transport + " " + row.communication;
}
std::string place_of(const OverlapRow& row) {
  return fmt::format("{} bytes, {}", row.size, to_json(row.op));
}

/// Means and the worst of what `log_error` gives; `is_fitted` says which rows judge nothing.
template <class Error, class Fitted>
FitQuality judged(const std::string& name, const OverlapRows& rows, Error&& log_error,
                  Fitted&& is_fitted) {
  Judgement out(name);
  for (const OverlapRow* row : rows) {
    const double error = log_error(*row);
    if (is_fitted(*row)) {
      out.add_fitted(error);
    } else {
      out.add_held_out(error, [&] { return place_of(*row); });
    }
  }
  return out.quality();
}

/// Rows of one communication.
void fit_one(const std::string& name, const OverlapRows& rows, CalibrationResult& result) {
  const OverlapRow& first = *rows.front();
  const bool fits = is_nccl(first) && std::ranges::any_of(rows, [](const OverlapRow* row) {
                      return uses_matrix_units(row->op);
                    });
  const double share = fits ? share_held(rows) : 0;
  if (fits) {
    result.calibration.held_multiprocessors[held_key(first.communication, is_over_nodes(first))] =
        share * static_cast<double>(first.multiprocessors);
  }
  result.quality.push_back(judged(
      "beside " + name, rows,
      [&](const OverlapRow& row) {
        return slowdown(row.compute_alone, row.compute_beside) + std::log1p(-share);
      },
      [&](const OverlapRow& row) { return fits && uses_matrix_units(row.op); }));
  result.quality.push_back(judged(
      name + " beside compute", rows,
      [](const OverlapRow& row) {
        return slowdown(row.communication_alone, row.communication_beside);
      },
      [](const OverlapRow&) { return false; }));
}

}  // namespace

void fit_overlap(const std::vector<Row>& rows, CalibrationResult& result) {
  std::map<std::string, OverlapRows> by_communication;
  std::int64_t left_out = 0;
  for (const Row& any : rows) {
    const auto* row = std::get_if<OverlapRow>(&any);
    if (row == nullptr) continue;
    const bool measured = row->compute_alone.median > 0 && row->compute_beside.median > 0 &&
                          row->communication_alone.median > 0 &&
                          row->communication_beside.median > 0;
    if (!row->covered || !measured) {
      ++left_out;
      continue;
    }
    by_communication[name_of_rows(*row)].push_back(row);
  }
  for (const auto& [name, group] : by_communication) fit_one(name, group, result);
  if (left_out > 0) {
    result.warnings.push_back(
        {"W004",
         fmt::format("{} overlaps were measured while one side had already ended", left_out)});
  }
}

}  // namespace plait
