// base/prefetch.h — loads memory into the processor's cache ahead of its use. A walk over elements
// that lie far apart prefetches a few elements ahead: the cache misses then overlap.
//
// A hint: results do not depend on it, and null or unmapped addresses do no harm.
#pragma once

#include <cstddef>
#include <memory>

namespace berth {

// Elements to prefetch ahead: enough to cover one cache miss, few enough to stay in the cache.
inline constexpr std::size_t kPrefetchAhead = 6;

// Prefetches `bytes` from `start`.
inline void Prefetch(const void* start, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const char* const first = static_cast<const char*>(start);
  for (std::size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(first + at);
}

// Prefetches the reference counts of a make_shared object, which lie right in front of the object.
template <typename T>
const void* OwnersOf(const std::shared_ptr<T>& object) {
  constexpr std::size_t kCounts = 16;
  if (object == nullptr) return nullptr;
  return reinterpret_cast<const char*>(object.get()) - kCounts;
}

}  // namespace berth
