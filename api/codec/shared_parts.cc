#include "api/codec/shared_parts.h"

#include <functional>

namespace berth::api {
namespace {

constexpr std::size_t kRemembered = 512;
constexpr std::size_t kLongestText = 16 * 1024;  // bounds the cache to 8 MB

}  // namespace

SharedParts::SharedParts() : known_(kRemembered) {}

SharedParts::Known& SharedParts::SlotOf(std::string_view text) {
  return known_[std::hash<std::string_view>()(text) % kRemembered];
}

std::optional<SharedList<PodSet>> SharedParts::Find(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const Known& known = SlotOf(text);
  if (text.empty() || known.text != text) return std::nullopt;
  return known.pod_sets;
}

void SharedParts::Keep(std::string_view text, const SharedList<PodSet>& pod_sets) {
  if (text.size() > kLongestText) return;
  const std::lock_guard lock(mutex_);
  Known& known = SlotOf(text);
  known.text = text;
  known.pod_sets = pod_sets;
}

}  // namespace berth::api
