#include "admission/controller/visibility_api.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "admission/pending_order.h"
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

using Entries = std::optional<std::vector<api::PendingWorkload>>;

// On the strand.
ExtensionApi::Answer AnswerFor(const Scheduler& scheduler, const ExtensionRequest& request,
                               api::PendingPage page) {
  const bool of_cluster = request.resource == kClusterQueues;
  auto entries = std::make_shared<Entries>(
      of_cluster ? PendingInClusterQueue(scheduler, request.name, page)
                 : PendingInLocalQueue(scheduler, {request.namespace_name, request.name}, page));
  return [entries, request] {
    if (!*entries) {
      return StatusAnswer(
          404, "NotFound",
          request.resource + "." + api::kVisibilityGroup + " \"" + request.name + "\" not found");
    }
    net::Response answer;
    answer.headers.Add("Content-Type", "application/json");
    answer.body = SummaryText(**entries, request.version);
    return answer;
  };
}

}  // namespace

Result<api::PendingPage> PendingPageOf(const std::map<std::string, std::string>& query) {
  api::PendingPage page;
  BERTH_TRY(page.offset, Number(query, "offset", page.offset));
  BERTH_TRY(page.limit, Number(query, "limit", page.limit));
  if (page.limit == 0) page.limit = api::PendingPage{}.limit;  // as in Kueue
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
  return summary.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

kube::ExtensionApi MakeVisibilityApi(Executor& strand, const Scheduler& scheduler,
                                     std::function<bool()> synced) {
  return {VisibilityGroup(),
          [&strand, &scheduler, synced = std::move(synced)](
              const ExtensionRequest& request, std::function<void(ExtensionApi::Answer)> done) {
            const Result<api::PendingPage> page = PendingPageOf(request.query);
            if (!page) {
              return done([message = page.error().message] {
                return StatusAnswer(400, "BadRequest", message);
              });
            }
            strand.Post([&scheduler, synced, request, page = *page, done = std::move(done)] {
              if (!synced()) {
                return done([] {
                  return StatusAnswer(503, "ServiceUnavailable", "the caches have not synced");
                });
              }
              done(AnswerFor(scheduler, request, page));
            });
          }};
}

}  // namespace berth::admission
