#pragma once
// Routing of tokens to experts and the way of their rows into the experts' slots and back. Tokens
// are (tokens, groups, ...): each of `groups` sequences has slots of its own, so that what one
// drops does not depend on the others. Slots are (experts, capacity, width); an expert's are dealt
// to the groups as evenly as they go, those of one group one behind the other.
//
// slots[tokens, groups, k] says where a token's row goes: its index among the rows of all experts,
// or -1 - expert where that expert has no slot left and the token is dropped there.

#include <cstdint>

namespace plait::kernels {

struct Routing {
  std::int64_t tokens = 0, groups = 0, experts = 0, chosen = 0, capacity = 0;
  constexpr std::int64_t rows() const { return tokens * groups; }
  /// Of a group, among all experts' slots; that of group `groups` is the next expert's first.
  constexpr std::int64_t first_slot(std::int64_t expert, std::int64_t group) const {
    return expert * capacity + group * capacity / groups;
  }
  constexpr std::int64_t slots_of(std::int64_t group) const {
    return first_slot(0, group + 1) - first_slot(0, group);
  }
  /// Of the index that `slots` holds.
  constexpr std::int64_t expert_of(std::int64_t slot) const {
    return slot < 0 ? -1 - slot : slot / capacity;
  }
};

/// gates[tokens, groups, k]: softmax over the k largest of logits[tokens, groups, experts], largest
/// first, of equal ones the lowest expert. Slots are taken in the order of tokens and gates.
template <class T>
void route_forward(T* gates, std::int64_t* slots, const T* logits, const Routing& r);

/// dlogits[tokens, groups, experts] from dgates: gate (dgate - sum of gate dgate) for the chosen
/// ones, 0 for the others.
template <class T>
void route_backward(T* dlogits, const T* dgates, const T* gates, const std::int64_t* slots,
                    const Routing& r);

/// filled[slots, width]: rows of x[rows, width] in the slots that they take, zeros in the others.
template <class T>
void dispatch_forward(T* filled, const T* x, const std::int64_t* slots, std::int64_t rows,
                      std::int64_t chosen, std::int64_t all_slots, std::int64_t width);

/// The slots that tokens of several ranks, one rank's behind the other's, take at `experts` of all
/// experts, from `first` on. Each rank has `capacity` slots at an expert.
struct GatheredSlots {
  std::int64_t rows = 0, chosen = 0;  // of all ranks
  std::int64_t senders = 1, first = 0, experts = 0, capacity = 0;
  /// Of choice `i` of all, which has taken `slot` of those of its sender.
  constexpr std::int64_t own_slot(std::int64_t i, std::int64_t slot) const {
    const std::int64_t expert = slot / capacity - first;
    if (slot < 0 || expert < 0 || expert >= experts) return -1;
    const std::int64_t sender = i / (rows / senders * chosen);
    return (expert * senders + sender) * capacity + slot % capacity;
  }
};

/// own[rows, k]: slots[rows, k] of those experts as (experts, senders x capacity), or -1 where a
/// token takes none of them.
void own_slots(std::int64_t* own, const std::int64_t* slots, const GatheredSlots& g);

/// dx[rows, width]: the sum over a row's slots of dfilled.
template <class T>
void dispatch_backward(T* dx, const T* dfilled, const std::int64_t* slots, std::int64_t rows,
                       std::int64_t chosen, std::int64_t width);

/// out[rows, width]: the sum over a row's slots of gate x filled.
template <class T>
void combine_forward(T* out, const T* filled, const T* gates, const std::int64_t* slots,
                     std::int64_t rows, std::int64_t chosen, std::int64_t width);

/// dfilled[slots, width] = gate x dout in the slots taken, 0 in the others; dgates[rows, k] = the
/// dot product of dout and filled, 0 where the row was dropped.
template <class T>
void combine_backward(T* dfilled, T* dgates, const T* dout, const T* filled, const T* gates,
                      const std::int64_t* slots, std::int64_t rows, std::int64_t chosen,
                      std::int64_t all_slots, std::int64_t width);

}  // namespace plait::kernels
