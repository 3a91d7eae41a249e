// integrations/controller/review_reads.h — the objects that built-in kinds read beside their jobs,
// such as training runtimes, for the reviews of these jobs. Objects of a job kind are not among
// them.
//
// Threads: built and fed on the manager's Executor; Of may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/object_meta.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class ReviewReads {
 public:
  // Construct before the informers start. Must outlive the manager. The cluster may lack the CRDs.
  ReviewReads(kube::Manager& manager, const std::vector<KindPtr>& kinds);

  // The objects that the kind reads beside `object`; empty: it reads none that is kept here.
  ReadObjects Of(const KindDescription& kind, const nlohmann::json& object) const;

 private:
  using ReadPtr = std::shared_ptr<const nlohmann::json>;

  void Set(const std::string& resource, const api::ObjectKey& key, const ReadPtr& object);

  std::set<std::string> resources_;  // "GROUP/PLURAL" of the objects that are kept
  mutable std::mutex mutex_;         // guards the member below
  std::map<std::pair<std::string, api::ObjectKey>, ReadPtr> objects_;  // by resource and key
};

}  // namespace berth::integrations
