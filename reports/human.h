#pragma once
// Numbers for people: three significant digits and the unit that fits. Machines read JSON and CSV.

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

/// "16,384"
std::string human_count(std::int64_t n);
/// "1 node", "16,384 nodes", "2 switches"
std::string human_plural(std::int64_t n, std::string_view noun);
/// "1230", "123", "12.3", "1.23"
std::string human_number(double value);
/// "4.21 s", "412 us"
std::string human_time(double seconds);
/// The same beyond minutes: "12 min", "3.1 h", "61.2 days"
std::string human_duration(double seconds);
/// "64.3 GiB", "512 KiB": powers of 1024, one decimal
std::string human_bytes(std::int64_t bytes);
/// "1.99 M": powers of 1000, three significant digits
std::string human_rate(double value);
/// Money, in whatever currency: "0.01505", "50.72", "23,789,423"
std::string human_money(double value);
/// Parameters of a model: "70.6 B", "124 M".
std::string human_parameters(std::int64_t n);
/// "4.2 %" of a fraction 0.042
std::string human_percent(double fraction, int decimals = 1);
/// The same with a sign: "-2.1 %"
std::string human_change(double fraction, int decimals = 1);
/// "exposed_communication" -> "exposed communication"
std::string human_words(std::string_view identifier);

}  // namespace plait
