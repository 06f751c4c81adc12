#include "costmodel/calibration_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "costmodel/gpu_features.h"
#include "costmodel/kernel_features.h"

namespace plait {
namespace {

constexpr Real kNotNegative{.min = 0};
constexpr Int kCount{.min = 0};

/// Two lists of one length: {"bytes": [...], "seconds": [...]}, bytes ascending.
struct PointLists {
  std::vector<double> bytes, seconds;
};
const Table<PointLists>& points_table() {
  static const Table<PointLists> table(
      "points",
      {
          field("bytes", &PointLists::bytes, List{kNotNegative}, "Sizes, ascending.").required(),
          field("seconds", &PointLists::seconds, List{kNotNegative}, "Time at each size.")
              .required(),
      });
  return table;
}

struct Points {
  Shape shape() const { return points_table().shape(); }
  void read(const Json& json, Piecewise& into) const {
    PointLists lists;
    points_table().read(json, lists);
    const bool ascend =
        std::ranges::adjacent_find(lists.bytes, std::greater_equal<>()) == lists.bytes.end();
    if (lists.bytes.size() != lists.seconds.size() || !ascend) {
      throw InputError({.code = "K001",
                        .problem = fmt::format("{} is no table of sizes and times", json.path()),
                        .where = json.where(),
                        .expected = "bytes that ascend, and as many seconds",
                        .cure = "write the calibration anew: plait calibrate"});
    }
    std::vector<Piecewise::Point> points;
    for (std::size_t i = 0; i < lists.bytes.size(); ++i) {
      points.push_back({lists.bytes[i], lists.seconds[i]});
    }
    into = Piecewise(std::move(points));
  }
  std::string write(const Piecewise& table) const {
    PointLists lists;
    for (const Piecewise::Point& p : table.points()) {
      lists.bytes.push_back(p.bytes), lists.seconds.push_back(p.seconds);
    }
    return points_table().write(lists);
  }
};

/// Any keys, each with a value that `element` reads.
template <class Rule>
struct Keyed {
  Rule element;
  Shape shape() const { return {"an object", R"({"type":"object"})", "", "", {}, {}}; }
  template <class V>
  void read(const Json& json, std::map<std::string, V>& into) const {
    if (!json.is(Json::Kind::kObject)) refuse_type(json, "an object");
    into.clear();
    for (const Json* child : json.children()) element.read(*child, into[child->key()]);
  }
  template <class V>
  std::string write(const std::map<std::string, V>& values) const {
    std::vector<JsonMember> members;
    for (const auto& [key, value] : values) members.push_back({key, element.write(value)});
    return json_object(std::move(members));
  }
};
template <class Rule>
Keyed(Rule) -> Keyed<Rule>;

const Table<GaussianProcess>& process_table() {
  using G = GaussianProcess;
  constexpr Real kPositive{.min = 1e-9};
  static const Table<G> table(
      "missed",
      {
          field("lengths", &G::lengths, List{kPositive},
                "How far apart sizes are alike, in logarithms, for each."),
          field("scale", &G::scale, kNotNegative, "Standard deviation."),
          field("mean", &G::mean, Real{}, "Far away from all points."),
          field("points", &G::points, List<List<Real>>{}, "Logarithms of the measured sizes."),
          field("weights", &G::weights, List{Real{}}, "Of the points."),
      });
  return table;
}

/// A kernel fit as it stands in the file: with the names of its features and sizes.
struct NamedFit {
  KernelFit fit;
  std::vector<std::string> features, sizes;
};
const Table<NamedFit>& fit_table() {
  const auto of_fit = [](auto KernelFit::*member) {
    return [member](NamedFit & f) -> auto& { return f.fit.*member; };
  };
  const auto values = [&](const char* key, std::vector<double> KernelFit::*member,
                          const char* doc) {
    return field_of<NamedFit>(key, of_fit(member), List{kNotNegative}, doc).required();
  };
  static const Table<NamedFit> table(
      "kernel",
      {
          field("features", &NamedFit::features, List{Text{}}, "What the time is linear in.")
              .required(),
          values("coefficients", &KernelFit::coefficients, "Seconds per unit of each feature."),
          values("least", &KernelFit::least, "Smallest measured value of each feature."),
          values("most", &KernelFit::most, "Largest measured value of each feature."),
          field_of<NamedFit>("fitted_error", of_fit(&KernelFit::fitted_error), kNotNegative,
                             "Mean |log(predicted / measured)| of the rows that were fitted."),
          field_of<NamedFit>("held_out_error", of_fit(&KernelFit::held_out_error), kNotNegative,
                             "The same of the rows that were not."),
          field("sizes", &NamedFit::sizes, List{Text{}}, "What an op is told by.")
              .silent_by_default(),
          field_of<NamedFit>("missed", of_fit(&KernelFit::missed), Nested{&process_table()},
                             "log(measured / sum of features) by size: a Gaussian process.")
              .silent_by_default(),
          field_of<NamedFit>("fitted_rows", of_fit(&KernelFit::fitted_rows), kCount,
                             "Rows that were fitted."),
          field_of<NamedFit>("held_out_rows", of_fit(&KernelFit::held_out_rows), kCount,
                             "Rows that were not."),
      });
  return table;
}

std::vector<std::string> texts(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}
std::vector<std::string> known_features(const std::string& kernel_class, bool on_gpu) {
  if (!on_gpu) return texts(feature_names(kernel_class.substr(0, kernel_class.find('.'))));
  std::vector<std::string> names;
  for (const GpuFeature& f : gpu_features_of(kernel_class)) names.emplace_back(f.name);
  return names;
}
/// None where nothing is a function of them.
std::vector<std::string> known_sizes(const std::string& kernel_class,
                                     const GaussianProcess& missed) {
  if (missed.points.empty()) return {};
  return texts(size_names(kernel_class.substr(0, kernel_class.find('.'))));
}
/// As many of all as there must be for `sizes` sizes.
bool is_whole(const GaussianProcess& missed, std::size_t sizes) {
  return missed.lengths.size() == sizes && missed.weights.size() == missed.points.size() &&
         std::ranges::all_of(missed.points, [&](const auto& p) { return p.size() == sizes; });
}

struct Fit {
  Shape shape() const { return fit_table().shape(); }
  void read(const Json& json, KernelFit& into) const {
    NamedFit named;
    fit_table().read(json, named);
    const std::vector<std::string> of_gpu = known_features(json.key(), true);
    KernelFit& fit = named.fit;
    fit.on_gpu = !of_gpu.empty() && named.features == of_gpu;
    const std::vector<std::string> known = known_features(json.key(), fit.on_gpu);
    const std::vector<std::string> sizes = known_sizes(json.key(), fit.missed);
    const bool whole = fit.coefficients.size() == known.size() &&
                       fit.least.size() == known.size() && fit.most.size() == known.size() &&
                       named.sizes == sizes && is_whole(fit.missed, sizes.size());
    if (known.empty() || named.features != known || !whole) {
      throw InputError(
          {.code = "K002",
           .problem =
               fmt::format("\"{}\" is not fitted as this version of plait needs it", json.key()),
           .where = json.where(),
           .expected = known.empty() ? "a kernel class that plait knows"
                                     : fmt::format("a value each for {}", fmt::join(known, ", ")),
           .cure = "write the calibration anew from its measurements: plait calibrate"});
    }
    into = std::move(named.fit);
  }
  /// Only inside `FittedKernels`, which knows the class.
  static std::string write(const std::string& kernel_class, const KernelFit& fit) {
    return fit_table().write(
        {fit, known_features(kernel_class, fit.on_gpu), known_sizes(kernel_class, fit.missed)});
  }
};

struct FittedKernels {
  Shape shape() const { return Keyed{Fit{}}.shape(); }
  void read(const Json& json, std::map<std::string, KernelFit>& into) const {
    Keyed{Fit{}}.read(json, into);
  }
  std::string write(const std::map<std::string, KernelFit>& kernels) const {
    std::vector<JsonMember> members;
    for (const auto& [name, fit] : kernels) members.push_back({name, Fit::write(name, fit)});
    return json_object(std::move(members));
  }
};

const Table<MessageFit>& message_table() {
  static const Table<MessageFit> table(
      "transport",
      {
          field("send", &MessageFit::send, Points{},
                "Seconds that a message keeps the sender's communication thread busy.")
              .required(),
          field("receive", &MessageFit::receive, Points{}, "The same of the receiver's.")
              .required(),
          field_of<MessageFit>(
              "latency_s", [](MessageFit& m) -> double& { return m.latency.value; }, kNotNegative,
              "From the end of the sender's work to the receiver's."),
          field_of<MessageFit>(
              "wake_s", [](MessageFit& m) -> double& { return m.wake.value; }, kNotNegative,
              "From one thread of a rank having something for the other, which waits, to that "
              "going on."),
          field("held_out_error", &MessageFit::held_out_error, kNotNegative,
                "Mean |log(predicted / measured)| of one-way times that were not fitted."),
      });
  return table;
}

}  // namespace

const Table<Calibration>& calibration_table() {
  using C = Calibration;
  static const Table<C> table(
      "calibration",
      {
          field("name", &C::name, Text{}, "Of the machine.").required(),
          field("raw_sha256", &C::raw_sha256, Text{}, "Hash of the file of measurements.")
              .required(),
          field("machine", &C::machine, Text{}, "Processor, kernel, compiler and libraries."),
          field("date", &C::date, Text{}, "Of the measurements, ISO 8601."),
          field("device", &C::device, Text{},
                "Of the catalogue, whose data sheet and kernels the features are of.")
              .silent_by_default(),
          field("in_steps", &C::in_steps, Flag{},
                "Whether kernels were measured between the others of a step, not alone.")
              .silent_by_default(),
          field("cores", &C::cores, kNotNegative, "Processors that the ranks share."),
          field("kernels", &C::kernels, FittedKernels{}, "Fitted kernels by class."),
          field("transports", &C::transports, Keyed{Nested{&message_table()}},
                "Messages by transport."),
          field("held_multiprocessors", &C::held_multiprocessors, Keyed{kNotNegative},
                "Multiprocessors that a collective of NCCL's keeps from compute, by its name."),
          field("combine", &C::combine, Points{}, "Adding received fp32 elements to one's own."),
          field("copy", &C::copy, Points{}, "Memory to memory."),
      });
  return table;
}

}  // namespace plait
