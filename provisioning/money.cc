#include "provisioning/money.h"

namespace berth::provisioning {

std::string Dollars(std::int64_t nano_dollars) {
  constexpr std::int64_t kNanoPerMicro = 1000;
  constexpr std::int64_t kMicroPerDollar = 1'000'000;
  const bool negative = nano_dollars < 0;
  // The remainder of a negative amount is negative, too: the magnitude of INT64_MIN fits in micros.
  std::int64_t micro = nano_dollars / kNanoPerMicro;
  const std::int64_t rest = nano_dollars % kNanoPerMicro;
  if (negative) micro = -micro;
  if ((negative ? -rest : rest) * 2 >= kNanoPerMicro) ++micro;
  std::string text = std::to_string(micro / kMicroPerDollar);
  std::string decimals = std::to_string(micro % kMicroPerDollar);
  decimals.insert(0, 6 - decimals.size(), '0');
  while (!decimals.empty() && decimals.back() == '0') decimals.pop_back();
  if (!decimals.empty()) text += "." + decimals;
  return negative && micro != 0 ? "-" + text : text;
}

}  // namespace berth::provisioning
