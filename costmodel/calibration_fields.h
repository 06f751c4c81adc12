#pragma once
// The tables of fields of calibration files.

#include "core/fields.h"
#include "costmodel/calibration.h"

namespace plait {

const Table<Calibration>& calibration_table();

}  // namespace plait
