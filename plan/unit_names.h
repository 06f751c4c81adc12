#pragma once
// What buffers of parameters are called, "layer.weights": units of parameters, in the order of
// UnitKind (plan/strategies/draft.h), and FSDP2's root.

#include <array>
#include <string_view>

namespace plait {

inline constexpr std::array<std::string_view, 28> kUnitNames = {"embedding",
                                                                "layer",
                                                                "moe_layer",
                                                                "mtp",
                                                                "head",
                                                                "layer_matrices",
                                                                "moe_layer_matrices",
                                                                "mtp_matrices",
                                                                "attention_layer",
                                                                "state_space_layer",
                                                                "mlp_layer",
                                                                "experts_layer",
                                                                "state_space_mlp_layer",
                                                                "state_space_moe_layer",
                                                                "delta_net_layer",
                                                                "delta_net_mlp_layer",
                                                                "delta_net_moe_layer",
                                                                "attention_layer_matrices",
                                                                "state_space_layer_matrices",
                                                                "mlp_layer_matrices",
                                                                "experts_layer_matrices",
                                                                "state_space_mlp_layer_matrices",
                                                                "state_space_moe_layer_matrices",
                                                                "delta_net_layer_matrices",
                                                                "delta_net_mlp_layer_matrices",
                                                                "delta_net_moe_layer_matrices",
                                                                "experts",
                                                                "adapters"};
inline constexpr std::string_view kRootName = "root";

}  // namespace plait
