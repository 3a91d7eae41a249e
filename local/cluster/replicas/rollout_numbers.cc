#include "local/cluster/replicas/rollout_numbers.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/deployment_plan.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kMostPercent = 1'000'000;

std::int64_t Scaled(const Json* value, std::int64_t total, Rounding rounding) {
  return value == nullptr ? 0 : ScaledAmount(*value, total, rounding);
}

const Json* RollingField(const Json& deployment, const char* field) {
  return Find(deployment, {"spec", "strategy", "rollingUpdate", field});
}

}  // namespace

std::int64_t ScaledAmount(const Json& value, std::int64_t total, Rounding rounding) {
  if (value.is_number_integer()) return std::max<std::int64_t>(value.get<std::int64_t>(), 0);
  const std::string text = StringAt(value, {});
  if (text.empty() || text.back() != '%') return 0;
  const auto percent = ParseInt64(std::string_view(text).substr(0, text.size() - 1));
  if (!percent || *percent < 0) return 0;
  const std::int64_t hundredths = std::min<std::int64_t>(*percent, kMostPercent) * total;
  return rounding == Rounding::kUp ? (hundredths + 99) / 100 : hundredths / 100;
}

std::int64_t WantedReplicas(const Json& object) { return IntAt(object, {"spec", "replicas"}, 1); }

bool IsRollingUpdate(const Json& deployment) {
  return StringAt(deployment, {"spec", "strategy", "type"}, "RollingUpdate") == "RollingUpdate";
}

std::int64_t MaxSurge(const Json& deployment) {
  if (!IsRollingUpdate(deployment)) return 0;
  return Scaled(RollingField(deployment, "maxSurge"), WantedReplicas(deployment), Rounding::kUp);
}

// Both percentages may round to 0: then one pod may be unavailable, or nothing would move.
std::int64_t MaxUnavailable(const Json& deployment) {
  const std::int64_t wanted = WantedReplicas(deployment);
  if (!IsRollingUpdate(deployment) || wanted == 0) return 0;
  const std::int64_t unavailable =
      Scaled(RollingField(deployment, "maxUnavailable"), wanted, Rounding::kDown);
  if (unavailable == 0 && MaxSurge(deployment) == 0) return 1;
  return std::min(unavailable, wanted);
}

std::int64_t RevisionOf(const Json& object) {
  return ParseInt64(AnnotationOf(object, kRevision)).value_or(0);
}

std::int64_t ProportionalChange(const Json& set, const Json& deployment, std::int64_t left) {
  const std::int64_t size = WantedReplicas(set);
  if (size == 0 || left == 0) return 0;
  std::int64_t change = 0;
  if (WantedReplicas(deployment) == 0) {
    change = -size;
  } else {
    const std::int64_t allowed = WantedReplicas(deployment) + MaxSurge(deployment);
    const std::int64_t before =
        ParseInt64(AnnotationOf(set, kMaxReplicas)).value_or(WantedReplicas(deployment));
    const double part = static_cast<double>(size) * static_cast<double>(allowed) /
                        static_cast<double>(std::max<std::int64_t>(before, 1));
    change = static_cast<std::int64_t>(std::llround(part)) - size;
  }
  return left > 0 ? std::clamp<std::int64_t>(change, 0, left)
                  : std::clamp<std::int64_t>(change, left, 0);
}

}  // namespace berth::local::cluster
