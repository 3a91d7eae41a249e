// provisioning/money.h — amounts of money as text.
//
// Units: USD in billionths (nano-dollars), int64, saturating. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace berth::provisioning {

// "3.5", "40", "0.445": at most six decimals, rounded to nearest.
std::string Dollars(std::int64_t nano_dollars);

}  // namespace berth::provisioning
