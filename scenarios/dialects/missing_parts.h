#pragma once
// The refusal of a file that, with its base, does not say all that a scenario needs.

#include <string>
#include <vector>

namespace plait {

/// D005. `missing`: paths of a scenario's fields, at least one, those of the model first.
/// `unknown_model`: what the file calls a model that is no preset; "": it names none.
[[noreturn]] void refuse_missing(const std::vector<std::string>& missing,
                                 const std::string& unknown_model, const std::string& file);

}  // namespace plait
