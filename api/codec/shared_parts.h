// api/codec/shared_parts.h — caches of the last decoded parts of objects, by their JSON text. A
// part that many objects have is thereby decoded once, and is in memory once.
//
// Pod sets are found by their frame: their text without the lists args, command and env of
// containers, which no decision reads. Jobs that differ in these lists share the decoded pod sets,
// and their templates are stored as differences (api/template_text.h).
//
// For owners of many objects; a forgotten part is decoded again. Threads: any. Errors: none.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/codec/json_text.h"
#include "api/workload.h"
#include "base/shared_list.h"

namespace berth::api {

template <typename T, std::size_t kRemembered>
class RecentParts {
 public:
  std::optional<T> Find(std::string_view key) {
    const std::lock_guard lock(mutex_);
    if (known_.empty() || key.empty()) return std::nullopt;
    const auto& [known, part] = known_[SlotOf(key)];
    if (known != key) return std::nullopt;
    return part;
  }
  void Keep(std::string_view key, const T& part) {
    if (key.size() > kLongestKey) return;
    const std::lock_guard lock(mutex_);
    if (known_.empty()) known_.resize(kRemembered);  // many owners never keep a part
    known_[SlotOf(key)] = {std::string(key), part};
  }

 private:
  static constexpr std::size_t kLongestKey = 16 * 1024;  // bounds the cache to 8 MB

  static std::size_t SlotOf(std::string_view key) {
    return std::hash<std::string_view>()(key) % kRemembered;
  }

  std::mutex mutex_;
  // By hash of the key; a new entry replaces the old one.
  std::vector<std::pair<std::string, T>> known_;
};

struct SharedParts {
  struct PodSets {
    SharedList<PodSet> fields;
    SharedList<TemplateText> templates;
  };
  RecentParts<PodSets, 512> pod_sets;
  RecentParts<SharedList<PodSetRequests>, 128> requests;
  RecentParts<SharedList<std::string>, 16> finalizers;
};

// `pod_sets`: the array podSets.
std::string FrameOf(const JsonNode& pod_sets);

}  // namespace berth::api
