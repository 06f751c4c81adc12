#pragma once
// A compute op as one flat JSON object, as files of measurements have it:
//   {"op":"matmul","accumulate":false,"batch":1,...,"pass":"forward"}
// "op" is the name of reports and traces; the other keys are the members of its struct in op.h.

#include <string>

#include "core/shape.h"
#include "model/op.h"

namespace plait {

/// One line; keys sorted behind "op". The same op gives the same text.
std::string to_json(const Compute& op);
/// Every key is required. Throws InputError F001 to F004, U004.
Compute compute_from(const Json& json);

/// What fields.h needs of a rule, so that an op can be a field.
struct ComputeRule {
  Shape shape() const;
  void read(const Json& json, Compute& into) const { into = compute_from(json); }
  std::string write(const Compute& op) const { return to_json(op); }
};

}  // namespace plait
