#pragma once
// Kernels that a scenario asks for and that libraries do not have, or not for its sizes and device.

#include "scenarios/scenario.h"

namespace plait {

/// W014: of a device that has matrix units, but none for bf16, which is the default.
void warn_of_slow_products(const Device& device, const Precision& precision, Warnings& warnings);

/// W023: attention, W037: products in 8 bits, W038: llama.cpp's on GPUs of data centres.
void warn_of_missing_kernels(Scenario& scenario);

}  // namespace plait
