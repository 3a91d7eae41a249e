#include "integrations/workload_name.h"

#include "base/sha1.h"
#include "base/strings.h"

namespace berth::integrations {
namespace {
constexpr std::size_t kHashLength = 5;
}

std::string WorkloadName(const OwnerIdentity& owner, NameLength length) {
  std::string hashed;
  for (const std::string_view part : {owner.kind, owner.group, owner.name, owner.uid}) {
    if (!hashed.empty()) hashed += '\n';
    hashed += part;
  }
  if (!owner.variant.empty()) (hashed += '\n') += owner.variant;

  const std::size_t limit = length == NameLength::kObjectName ? 253 : 63;
  std::string name = ToLower(owner.kind) + "-" + std::string(owner.name);
  if (name.size() > limit - kHashLength - 1) name.resize(limit - kHashLength - 1);
  while (name.back() == '.') name.pop_back();  // "-" may not follow a dot in an object name
  return name + "-" + Sha1Hex(hashed).substr(0, kHashLength);
}

}  // namespace berth::integrations
