#pragma once
// What is said of a prediction by a calibration: its name, and what is to be doubted.

#include <string>

#include "core/warning.h"
#include "costmodel/costmodel.h"
#include "plan/plan.h"
#include "reports/report.h"
#include "topologies/cluster.h"

namespace plait {

/// "box, 2026-01-02T03:04:05Z": its name and date.
std::string told_as(const Calibration& calibration);

/// W035 where the plan runs kernels of classes that the calibration has not, which are then
/// predicted as without it. Nothing without a calibration.
Warnings doubts_of_kernels(const Plan& plan, const Cluster& cluster, const CostModel& costs);

/// W036 where messages and cores of a processor's calibration, which real runs are predicted with,
/// are left aside: a prediction by the cluster has its links for them. Nothing of one rank.
Warnings doubts_of_messages(const Plan& plan, const CostModel& costs);

/// W032 where its kernels add up to more than the devices' peak: an MFU above 1, of what attention
/// computes.
Warnings doubts_of_rate(const Report& report, const CostModel& costs);

}  // namespace plait
