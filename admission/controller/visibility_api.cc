#include "admission/controller/visibility_api.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "admission/pending_order.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;
using kube::ExtensionApi;
using kube::ExtensionRequest;
using kube::StatusAnswer;

constexpr char kClusterQueues[] = "clusterqueues";

kube::ExtensionGroup VisibilityGroup() {
  return {.name = api::kVisibilityGroup,
          .versions = {api::kVisibilityVersion, api::kOlderVisibilityVersion},
          .resources = {{.name = kClusterQueues,
                         .singular = "clusterqueue",
                         .kind = "ClusterQueue",
                         .namespaced = false,
                         .subresource = api::kPendingWorkloads,
                         .subresource_kind = api::kPendingSummaryKind},
                        {.name = "localqueues",
                         .singular = "localqueue",
                         .kind = "LocalQueue",
                         .namespaced = true,
                         .subresource = api::kPendingWorkloads,
                         .subresource_kind = api::kPendingSummaryKind}}};
}

Json EntryJson(const api::PendingWorkload& entry) {
  Json owners = Json::array();
  for (const api::OwnerReference& owner : entry.meta.owner_references) {
    owners.push_back({{"apiVersion", owner.api_version},
                      {"kind", owner.kind},
                      {"name", owner.name},
                      {"uid", owner.uid}});
  }
  Json meta = {{"name", entry.meta.name},
               {"namespace", entry.meta.namespace_name},
               {"creationTimestamp", FormatTime(entry.meta.creation_timestamp)}};
  if (!owners.empty()) meta["ownerReferences"] = std::move(owners);
  if (!entry.meta.annotations.empty()) meta["annotations"] = entry.meta.annotations;
  return {{"metadata", std::move(meta)},
          {"priority", entry.priority},
          {"localQueueName", entry.local_queue},
          {"positionInClusterQueue", entry.position_in_cluster_queue},
          {"positionInLocalQueue", entry.position_in_local_queue}};
}

Result<std::int64_t> Number(const std::map<std::string, std::string>& query, const char* name,
                            std::int64_t otherwise) {
  const auto found = query.find(name);
  if (found == query.end() || found->second.empty()) return otherwise;
  const auto value = ParseInt64(found->second);
  if (value) return *value;
  return Error{ErrorCode::kInvalid, std::string("query parameter ") + name + ": \"" +
                                        found->second + "\" is not a whole number"};
}

// A snapshot that its first reader sorts.
class SharedSnapshot {
 public:
  SharedSnapshot(const Scheduler& scheduler, ClusterQueueId queue) : snapshot_(scheduler, queue) {}
  const PendingSnapshot& Sorted() {
    std::call_once(sorted_, [this] { snapshot_.Sort(); });
    return snapshot_;
  }

 private:
  std::once_flag sorted_;
  PendingSnapshot snapshot_;
};

std::optional<ClusterQueueId> QueueOf(const Scheduler& scheduler, const ExtensionRequest& request) {
  if (request.resource == kClusterQueues) {
    return scheduler.state().cluster_queues().Find(request.name);
  }
  return scheduler.queues().local_queues().ClusterQueueOf({request.namespace_name, request.name});
}

ExtensionApi::Answer NotFound(const ExtensionRequest& request) {
  return [request] {
    return StatusAnswer(
        404, "NotFound",
        request.resource + "." + api::kVisibilityGroup + " \"" + request.name + "\" not found");
  };
}

ExtensionApi::Answer PageOf(std::shared_ptr<SharedSnapshot> snapshot,
                            const ExtensionRequest& request, api::PendingPage page) {
  return [snapshot = std::move(snapshot), request, page] {
    const PendingSnapshot& sorted = snapshot->Sorted();
    net::Response answer;
    answer.headers.Add("Content-Type", "application/json");
    answer.body = SummaryText(request.resource == kClusterQueues
                                  ? sorted.Page(page)
                                  : sorted.PageOf({request.namespace_name, request.name}, page),
                              request.version);
    return answer;
  };
}

}  // namespace

Result<api::PendingPage> PendingPageOf(const std::map<std::string, std::string>& query) {
  api::PendingPage page;
  BERTH_TRY(page.offset, Number(query, "offset", page.offset));
  BERTH_TRY(page.limit, Number(query, "limit", page.limit));
  if (page.limit == 0) page.limit = api::PendingPage{}.limit;  // Kueue does the same
  return page;
}

std::string SummaryText(const std::vector<api::PendingWorkload>& entries,
                        const std::string& version) {
  Json items = Json::array();
  for (const api::PendingWorkload& entry : entries) items.push_back(EntryJson(entry));
  const Json summary = {{"kind", api::kPendingSummaryKind},
                        {"apiVersion", std::string(api::kVisibilityGroup) + "/" + version},
                        {"metadata", {{"creationTimestamp", nullptr}}},
                        {"items", std::move(items)}};
  return api::FormatJson(summary) + "\n";
}

// The snapshots of the queues read last, each until its queue changes.
class PendingReads::Snapshots {
 public:
  std::shared_ptr<SharedSnapshot> Of(const Scheduler& scheduler, ClusterQueueId queue) {
    const PendingSnapshot::Version version = PendingSnapshot::VersionOf(scheduler, queue);
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const Kept& kept) { return kept.queue == queue; });
    Kept kept{queue, version, nullptr};
    if (found != kept_.end()) {
      if (found->version == version) kept.snapshot = std::move(found->snapshot);
      kept_.erase(found);
    }
    if (kept.snapshot == nullptr) {
      kept.snapshot = std::make_shared<SharedSnapshot>(scheduler, queue);
      ++taken_;
    }
    kept_.push_front(kept);
    if (kept_.size() > kMostSnapshots) kept_.pop_back();
    return kept.snapshot;
  }

  std::int64_t taken() const { return taken_; }

 private:
  struct Kept {
    ClusterQueueId queue;
    PendingSnapshot::Version version;
    std::shared_ptr<SharedSnapshot> snapshot;
  };

  std::deque<Kept> kept_;  // the one read last first
  std::int64_t taken_ = 0;
};

PendingReads::PendingReads(const Scheduler& scheduler)
    : scheduler_(scheduler), snapshots_(std::make_unique<Snapshots>()) {}
PendingReads::~PendingReads() = default;

std::int64_t PendingReads::snapshots_taken() const { return snapshots_->taken(); }

ExtensionApi::Answer PendingReads::Read(const ExtensionRequest& request, api::PendingPage page) {
  const std::optional<ClusterQueueId> queue = QueueOf(scheduler_, request);
  if (!queue) return NotFound(request);
  return PageOf(snapshots_->Of(scheduler_, *queue), request, page);
}

kube::ExtensionApi MakeVisibilityApi(Executor& strand, const Scheduler& scheduler,
                                     std::function<bool()> synced) {
  auto reads = std::make_shared<PendingReads>(scheduler);
  return {VisibilityGroup(),
          [&strand, reads, synced = std::move(synced)](
              const ExtensionRequest& request, std::function<void(ExtensionApi::Answer)> done) {
            const Result<api::PendingPage> page = PendingPageOf(request.query);
            if (!page) {
              return done([message = page.error().message] {
                return StatusAnswer(400, "BadRequest", message);
              });
            }
            strand.Post([reads, synced, request, page = *page, done = std::move(done)] {
              if (!synced()) {
                return done([] {
                  return StatusAnswer(503, "ServiceUnavailable", "the caches have not synced");
                });
              }
              done(reads->Read(request, page));
            });
          }};
}

}  // namespace berth::admission
