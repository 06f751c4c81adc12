#pragma once
// A machine as measured: what `plait bench` recorded and `plait calibrate` fitted. With it, the
// cost model's durations of compute ops are those of this machine's kernels, and the event engine
// knows what messages cost the processors that the ranks share.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "costmodel/gaussian_process.h"

namespace plait {

/// Seconds as a function of bytes: straight lines between measured points, beyond the last point in
/// proportion to the last two, before the first point constant.
class Piecewise {
 public:
  struct Point {
    double bytes = 0, seconds = 0;
  };
  Piecewise() = default;
  /// `points` ascending in bytes; empty: always zero.
  explicit Piecewise(std::vector<Point> points);
  Seconds at(Bytes bytes) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

/// Seconds = sum of coefficient x feature, times exp(missed) at the op's sizes; which features and
/// sizes a kernel class has is said in costmodel/kernel_features.h, and of Calibration::device in
/// costmodel/gpu_features.h.
struct KernelFit {
  bool on_gpu = false;               // features are those of Calibration::device
  std::vector<double> coefficients;  // seconds per unit of the feature, none negative
  /// Range of each feature among the fitted rows; beyond it a prediction is extrapolated.
  std::vector<double> least, most;
  GaussianProcess missed;     // log(measured / seconds as above without it)
  double fitted_error = 0;    // mean |log(predicted / measured)| over the rows that were fitted
  double held_out_error = 0;  // the same over the rows that were not
  std::int64_t fitted_rows = 0, held_out_rows = 0;
};

/// A message between two ranks of one machine over one transport: how long it keeps each end's
/// communication thread busy, and the time between the two.
struct MessageFit {
  Piecewise send, receive;
  Seconds latency;  // from the end of the sender's work to the receiver's
  /// From one thread of a rank having something for the other, which waits, to that going on.
  Seconds wake;
  double held_out_error = 0;
};

struct Calibration {
  std::string name;                              // of the machine
  std::string raw_sha256;                        // of the file of measurements
  std::string machine;                           // processor, kernel, compiler, libraries: one line
  std::string date;                              // of the measurements, ISO 8601
  std::string device;                            // of the catalogue, a GPU; empty: not said
  bool in_steps = false;                         // kernels between the others of a step, not alone
  double cores = 1;                              // processors that the ranks of this machine share
  std::map<std::string, KernelFit> kernels;      // by class: "matmul.nt", "norm.forward", ...
  std::map<std::string, MessageFit> transports;  // "threads", "mpi", "tcp"
  /// Multiprocessors that a collective of NCCL's keeps from compute, by held_key
  /// (held_multiprocessors.h).
  std::map<std::string, double> held_multiprocessors;
  Piecewise combine;  // adding received fp32 elements to one's own
  Piecewise copy;     // memory to memory
};

/// Reads a calibration file. Throws InputError with its place: J0xx, F00x, U004 of any JSON file,
/// K001 for a table that is none, K002 for a kernel class whose features this version has not.
Calibration load_calibration(const std::string& path);
/// The same from text; `file` is what messages call it.
Calibration parse_calibration(const std::string& text, const std::string& file);
/// The same as JSON text, numbers in full precision; reading it back gives the same calibration.
std::string to_json(const Calibration& calibration);

}  // namespace plait
