#include "local/apiserver/registry/identifiers.h"

#include "local/apiserver/registry/uuid.h"

namespace berth::local {

std::string Identifiers::NewUid() {
  const std::lock_guard lock(mutex_);
  return MakeUuid(random_);
}

std::string Identifiers::NameSuffix() {
  constexpr std::size_t kLength = 5;
  const std::lock_guard lock(mutex_);
  return random_.NameSuffix(kLength);
}

}  // namespace berth::local
