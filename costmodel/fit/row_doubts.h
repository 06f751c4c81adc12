#pragma once
// What is to be doubted of measurements, and of the fit to them.

#include <vector>

#include "core/warning.h"
#include "costmodel/fit/calibrate.h"

namespace plait {

/// W028 where kernels are as if in another unit than seconds, by the data sheet of `gpu`.
void doubt_units(const std::vector<Row>& rows, const Device& gpu, Warnings& warnings);
/// W032 where products are faster than the peak of `gpu`.
void doubt_rates(const std::vector<Row>& rows, const Device& gpu, Warnings& warnings);
/// W033 where measurements of one op contradict each other.
void doubt_repeats(const std::vector<Row>& rows, Warnings& warnings);
/// W033 where the data sheet is nearer than the fit to the rows that were held out.
void doubt_fits(const std::vector<FitQuality>& quality, Warnings& warnings);

}  // namespace plait
