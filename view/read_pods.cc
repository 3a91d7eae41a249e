// Reads the pods of a Workload's job, of whichever kind.
#include <string>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "kube/client/api_client.h"
#include "view/screens/pods_of_job.h"
#include "view/session.h"
#include "view/view_reader.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

// The label selector of the Workload's pods; empty: its kind has none, or the job is gone.
Result<std::string> PodSelectorFor(Session& session, const api::Workload& own) {
  const api::OwnerReference* owner = api::ControllerOf(own.meta);
  if (owner == nullptr) return std::string();
  const Result<JobReference> job = JobReferenceOf(*owner);
  if (!job) return std::string();
  const std::string path =
      job->ListPath(own.meta.namespace_name) + "/" + kube::EscapeQuery(owner->name);
  const Result<Json> object = session.GetAll({path}).front();
  if (object) return PodSelectorOf(*job, *object);
  if (object.error().code == ErrorCode::kNotFound) return std::string();
  return object.error();
}

}  // namespace

// A Job's pods have a label with its name.
Status ReadPodsOf(Session& session, const api::Workload& own, std::size_t most, ClusterView& view) {
  const api::OwnerReference* owner = api::ControllerOf(own.meta);
  std::string selector;
  if (owner != nullptr && owner->kind == "Job" && owner->api_version.starts_with("batch/")) {
    selector = std::string(api::kJobNameLabel) + "=" + owner->name;
  } else if (owner == nullptr) {  // the Workload of a pod group has the name of the group
    selector = std::string(api::kPodGroupNameLabel) + "=" + own.meta.name;
  } else {
    Result<std::string> read = PodSelectorFor(session, own);
    if (!read && read.error().code == ErrorCode::kForbidden) {
      view.hidden.emplace_back("pods");
      return OkStatus();
    }
    if (!read) return read.error();
    selector = *std::move(read);
  }
  if (selector.empty()) return OkStatus();
  return ReadLists(session,
                   {{.kind = ViewKind::kPods,
                     .namespace_name = own.meta.namespace_name,
                     .query = "labelSelector=" + kube::EscapeQuery(selector) +
                              "&limit=" + std::to_string(most)}},
                   "", view);
}

}  // namespace berth::view
