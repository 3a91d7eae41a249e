// api/codec/shared_parts.h — a cache of the last few hundred decoded pod sets, by their JSON text.
// The equal pod sets of many Workloads are thereby decoded once, and are in memory once.
//
// For owners of many objects; a forgotten part is decoded again. Threads: any. Errors: none.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/workload.h"
#include "base/shared_list.h"

namespace berth::api {

class SharedParts {
 public:
  SharedParts();

  std::optional<SharedList<PodSet>> Find(std::string_view text);
  void Keep(std::string_view text, const SharedList<PodSet>& pod_sets);

 private:
  struct Known {
    std::string text;
    SharedList<PodSet> pod_sets;
  };
  Known& SlotOf(std::string_view text);

  std::mutex mutex_;
  std::vector<Known> known_;  // by hash of the text; a new entry replaces the old one
};

}  // namespace berth::api
