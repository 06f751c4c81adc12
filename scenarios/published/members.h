#pragma once
// Members of a record that its own reading did not ask for: fields of a scenario's model, words for
// people, and such as nobody reads.

#include <string>
#include <vector>

#include "scenarios/published/record_part.h"

namespace plait {

/// A member of a record's `model` that is a field of a scenario's by the same name: head_dim; of
/// its `batch` one of a workload's: loss_pieces.
struct RecordField {
  std::string name, value;  // JSON text
};

/// Those of a `model` or a `batch` that nothing has asked for.
std::vector<RecordField> fields_of_scenario(const RecordPart& part);

/// Members that are not read, in order, with their part and what they may have been meant for:
/// `parallel.zero (did you mean "zero_stage"?)`; and measured amounts that cannot be used, with
/// why. Those that tell people where a record is from, and amounts that were measured beside those
/// that are read, are none of them.
std::vector<std::string> unread_members(const RecordPart& record);

}  // namespace plait
