// base/rfc3339.h — WallTime to text and back, as the Kubernetes API writes times.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace berth {

std::string FormatTime(WallTime time);       // metav1.Time: 2026-11-20T07:03:22Z, cut to seconds
std::string FormatMicroTime(WallTime time);  // metav1.MicroTime: 2026-11-20T07:03:22.589518Z

// RFC 3339 with any fraction (cut to microseconds) and any offset; nullopt on anything else.
std::optional<WallTime> ParseTime(std::string_view text);

// A span in kubectl's short form: 45s, 5m3s, 12m, 3h5m, 30h, 5d2h, 12d, 2y1d. Negative:
// "<invalid>".
std::string HumanDuration(Duration span);

}  // namespace berth
