#include "api/gpu_shares.h"

#include "base/strings.h"

namespace berth::api {

Result<std::map<std::string, Amount>> ParseShareNumbers(std::string_view text) {
  std::map<std::string, Amount> numbers;
  if (text.empty()) return numbers;
  for (const std::string_view entry : Split(text, ',')) {
    const std::size_t equals = entry.find('=');
    const auto number = equals == std::string_view::npos
                            ? std::nullopt
                            : ParseInt64(std::string(entry.substr(equals + 1)));
    if (equals == 0 || !number || *number < 1 || *number > kMostSharesPerGpu) {
      return Error{ErrorCode::kInvalid, "\"" + std::string(entry) +
                                            "\" must be RESOURCE=NUMBER with a number from 1 to " +
                                            std::to_string(kMostSharesPerGpu) +
                                            ", as nvidia.com/gpu=3"};
    }
    if (!numbers.emplace(entry.substr(0, equals), *number).second) {
      return Error{ErrorCode::kInvalid,
                   "\"" + std::string(entry.substr(0, equals)) + "\" must be there once"};
    }
  }
  return numbers;
}

bool IsGpuResource(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  if (slash == std::string_view::npos || resource == kGpusResource) return false;
  const std::string_view name = resource.substr(slash + 1);
  return name == "gpu" || name.rfind("gpu.", 0) == 0 || name.rfind("mig-", 0) == 0;
}

Amount GpusOf(Amount amount, Amount shares) {
  return MultiplyAmounts(amount, kUnitsPerGpu) / shares;
}

}  // namespace berth::api
