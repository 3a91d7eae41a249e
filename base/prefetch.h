// base/prefetch.h — asks for memory before it is needed. Whoever walks a list whose elements lie
// far apart says a few elements ahead what it will look at: the waits for them then overlap.
//
// A hint: nothing but time depends on it, and null or unmapped addresses do no harm.
#pragma once

#include <cstddef>
#include <memory>

namespace berth {

// How many elements ahead: enough to cover a look into memory, few enough to stay in the cache.
inline constexpr std::size_t kPrefetchAhead = 6;

// The first `bytes` behind `start`.
inline void Prefetch(const void* start, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const char* const first = static_cast<const char*>(start);
  for (std::size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(first + at);
}

// Where the owners of what make_shared made are counted: right before it.
template <typename T>
const void* OwnersOf(const std::shared_ptr<T>& object) {
  constexpr std::size_t kCounts = 16;
  if (object == nullptr) return nullptr;
  return reinterpret_cast<const char*>(object.get()) - kCounts;
}

}  // namespace berth
