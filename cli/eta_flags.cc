#include "cli/eta_flags.h"

#include "base/go_duration.h"

namespace berth::cli {

Result<std::optional<Duration>> EtaIntervalOf(const std::optional<std::string>& text,
                                              std::optional<Duration> usual) {
  if (!text) return usual;
  if (*text == "0") return std::optional<Duration>();
  const std::optional<Duration> interval = ParseGoDuration(*text);
  if (interval && *interval >= kLeastEtaInterval) return interval;
  return Error{ErrorCode::kInvalid, "--eta-interval \"" + *text +
                                        "\": write a duration of a second or more, such as 1m, or "
                                        "0 for no forecasts"};
}

}  // namespace berth::cli
