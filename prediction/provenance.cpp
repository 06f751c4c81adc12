#include "prediction/provenance.h"

#include <cmath>

namespace plait {
namespace {

// What the bands of kernels and collectives do not cover, because it is common to all of a run: the
// same products on the same GPU model in another laboratory differ by 5 % (A100) to 13 % (H100) in
// the median (AIConfigurator against Vidur), and two releases of the same software by 8 % on one
// configuration (NeMo 24.x). Measurements of the machine itself do away with the first.
constexpr double kBetweenLaboratories = 0.13, kBetweenReleases = 0.08;
// And what a framework does that no plan has: from half of the sources of published runs, such that
// 80 % of the runs are in their bands (reports/published/bands.py; docs/accuracy.md has the shares
// of the other half). A machine that is calibrated runs Plait's own launcher, which adds nothing.
constexpr double kBetweenFrameworks = 0.0;

/// Relative errors of the parts are taken to point the same way: the band of the sum is the
/// time-weighted mean of theirs, the widest that it can be.
class Tally {
 public:
  void add(const Cost& cost, double runs) {
    const double time = cost.total().value * runs;
    shares_.share[static_cast<std::size_t>(cost.provenance)] += time;
    shares_.band += time * cost.band;
    total_ += time;
  }
  ProvenanceShares result(double framework) const {
    ProvenanceShares out = shares_;
    const double scale = total_ > 0 ? 1 / total_ : 0;
    for (double& s : out.share) s *= scale;
    const double elsewhere =
        kBetweenLaboratories * (1 - out.share[static_cast<std::size_t>(Provenance::kMeasured)]);
    out.band = std::hypot(std::hypot(out.band * scale, elsewhere), kBetweenReleases, framework);
    return out;
  }

 private:
  ProvenanceShares shares_;
  double total_ = 0;
};

const CollectiveChoice* choice_of(const Collective& op,
                                  const std::vector<CollectiveChoice>& choices) {
  for (const CollectiveChoice& c : choices) {
    if (c.op.kind == op.kind && c.op.axes == op.axes && c.op.bytes() == op.bytes()) return &c;
  }
  return nullptr;
}

}  // namespace

ProvenanceShares provenance_of(const Plan& plan, const StepCounts& counts, const Cluster& cluster,
                               const CostModel& costs,
                               const std::vector<CollectiveChoice>& collectives) {
  std::vector<std::int64_t> runs(plan.blocks.size(), 0);
  for (const std::vector<std::int64_t>& here : counts.runs) {
    for (std::size_t b = 0; b < runs.size(); ++b) runs[b] += here[b];
  }
  Tally tally;
  for (std::size_t b = 0; b < runs.size(); ++b) {
    if (runs[b] == 0) continue;
    for (const Op& op : plan.blocks[b].ops) {
      if (const auto* kernel = std::get_if<Compute>(&op.body)) {
        for (std::size_t k = 0; k < cluster.kinds(); ++k) {
          const Cost cost = costs.compute(*kernel, cluster.kind(k).device);
          tally.add(cost, static_cast<double>(runs[b]) * cluster.share(k));
        }
      } else if (const auto* c = std::get_if<Collective>(&op.body)) {
        const CollectiveChoice* choice = choice_of(*c, collectives);
        if (choice != nullptr) tally.add(choice->cost.cost, static_cast<double>(runs[b]));
      }
    }
  }
  return tally.result(costs.calibration == nullptr ? kBetweenFrameworks : 0);
}

}  // namespace plait
