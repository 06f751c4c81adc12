#include "realrun/compute/host_device.h"

#include <algorithm>

#include "realrun/collective.h"
#include "realrun/rounding.h"

namespace plait {

template <class T>
HostDevice<T>::HostDevice(const Plan& plan, const Rank& rank, Fresh fresh)
    : plan_(plan),
      buffers_(plan, rank.stage, fresh, rank.role),
      times_(static_cast<std::size_t>(op_count(plan, rank.stage))) {}

template <class T>
void HostDevice<T>::write(const Member& to, std::int64_t first, std::int64_t elements,
                          std::span<const double> values) {
  T* data = at<T>(to) + first;
  for (std::int64_t i = 0; i < elements; ++i) {
    data[i] = static_cast<T>(values[static_cast<std::size_t>(i) % values.size()]);
  }
  round_to(data, elements, plan_.tensors[to.tensor].dtype);
}

template <class T>
void HostDevice<T>::write(const Member& to, std::span<const std::int64_t> tokens) {
  std::ranges::copy(tokens, at<std::int64_t>(to));
}

template <class T>
std::vector<double> HostDevice<T>::read(const Member& from) {
  const T* data = at<T>(from);
  return {data, data + plan_.tensors[from.tensor].elements(plan_.mesh)};
}

template <class T>
void HostDevice<T>::compute(const RunContext& context, const Issued& issued,
                            const Operands& operands) {
  OpTime& time = times_[static_cast<std::size_t>(issued.flat)];
  time = OpClock::begin();
  plait::compute<T>(context, operands, issued.op, issued.call);
  clock_.end(time);
}

template <class T>
std::unique_ptr<Communication> HostDevice<T>::local_work(const RunContext& context,
                                                         const Issued& issued,
                                                         std::shared_ptr<Operands> operands) {
  return std::make_unique<LocalWork>(
      [&context, &op = issued.op, &call = issued.call, operands = std::move(operands)] {
        plait::compute<T>(context, *operands, op, call);
      });
}

template <class T>
std::unique_ptr<Communication> HostDevice<T>::communication(const Issued& /*issued*/,
                                                            const Exchange& exchange,
                                                            std::shared_ptr<Operands> operands,
                                                            CollectiveLibrary* library) {
  return communication_of<T>(exchange, *operands, library);
}

template class HostDevice<float>;
template class HostDevice<double>;

}  // namespace plait
