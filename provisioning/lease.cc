#include "provisioning/lease.h"

#include "api/labels.h"
#include "base/rfc3339.h"
#include "base/sha1.h"

namespace berth::provisioning {
namespace {

constexpr std::size_t kHolderDigits = 16;
constexpr Duration kClockSkew = std::chrono::minutes(5);  // the holder's clock may be so far off

}  // namespace

std::string LeaseHolder(const std::string& workload_uid, const std::string& check) {
  return Sha1Hex(workload_uid + "/" + check).substr(0, kHolderDigits);
}

std::optional<Lease> LeaseOf(const api::Node& node) {
  const std::string* holder = api::FindValue(node.meta.labels, api::kLeaseLabel);
  const std::string* until = api::FindValue(node.meta.annotations, api::kLeaseUntilAnnotation);
  const auto end = until == nullptr ? std::nullopt : ParseTime(*until);
  if (holder == nullptr || holder->empty() || !end) return std::nullopt;
  return Lease{*holder, *end};
}

bool Lives(const Lease& lease, WallTime now) {
  return now < lease.until && lease.until <= now + kLeaseLength + kClockSkew;
}

std::optional<api::ObjectKey> LeasedTo(const api::Node& node) {
  const std::string* text = api::FindValue(node.meta.annotations, api::kLeaseOfAnnotation);
  const std::size_t slash = text == nullptr ? std::string::npos : text->find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == text->size()) return std::nullopt;
  return api::ObjectKey{text->substr(0, slash), text->substr(slash + 1)};
}

}  // namespace berth::provisioning
