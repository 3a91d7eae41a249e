// Reads the pods of a Workload's job, of whichever kind.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "base/dns_names.h"
#include "base/strings.h"
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

// Other values are no labels, and name no pod.
bool IsLabelValue(const std::string& text) {
  constexpr std::size_t kMostBytes = 63;
  return text.size() <= kMostBytes && IsDnsSubdomain(text);
}

std::string SelectorOf(const PodMarks& marks) {
  std::vector<std::string> terms;
  for (const auto& [key, value] : marks.labels) {
    if (!IsLabelValue(value)) return {};
    terms.push_back(key + "=" + value);
  }
  return Join(terms, ",");
}

const std::string& ManagedPods() {
  static const std::string selector = std::string(api::kManagedLabel) + "=true";
  return selector;
}

Want PodsWith(const std::string& space, const std::string& selector, std::size_t most) {
  return {
      .kind = ViewKind::kPods,
      .namespace_name = space,
      .query = "labelSelector=" + kube::EscapeQuery(selector) + "&limit=" + std::to_string(most)};
}

// The requests for the pods of a Workload; empty: nothing tells them.
Result<std::vector<Want>> WantsOf(Session& session, const api::Workload& own, const PodMarks& marks,
                                  std::size_t most) {
  const std::string& space = own.meta.namespace_name;
  std::vector<Want> wants;
  if (!marks.pod_name.empty()) {
    if (IsDnsSubdomain(marks.pod_name)) {
      wants.push_back({.kind = ViewKind::kPods, .namespace_name = space, .name = marks.pod_name});
    }
    return wants;
  }
  if (!marks.group.empty()) {  // a label of its pods, or an annotation
    wants.push_back(PodsWith(space, ManagedPods(), most));
    if (!IsLabelValue(marks.group)) return wants;
  }
  std::string selector = marks.group.empty()
                             ? SelectorOf(marks)
                             : std::string(api::kPodGroupNameLabel) + "=" + marks.group;
  if (!marks.job_name.empty()) {
    BERTH_TRY(selector, PodSelectorFor(session, own));
  }
  if (!selector.empty()) wants.push_back(PodsWith(space, selector, most));
  return wants;
}

// Adds pods that the view lacks; marks those of `own`, if it is not null, as its pods.
void AddPods(std::vector<PodView> pods, const api::Workload* own, ClusterView& view) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < view.pods.size(); ++i) {
    known[{view.pods[i].namespace_name, view.pods[i].name}] = i;
  }
  for (PodView& pod : pods) {
    const auto [place, is_new] =
        known.try_emplace({pod.namespace_name, pod.name}, view.pods.size());
    if (is_new) view.pods.push_back(std::move(pod));
    if (own != nullptr) view.pods[place->second].workload = own->meta.name;
  }
}

// Jobs whose pods one request reads.
struct PodRequest {
  std::string space;
  std::string key;                 // the key of a label; empty: the pods that queues manage
  std::vector<std::string> names;  // the values of the label

  Want AsWant(std::size_t most) const {
    Want want =
        PodsWith(space, key.empty() ? ManagedPods() : key + " in (" + Join(names, ",") + ")", most);
    // Pods that have ended are on no node.
    want.query +=
        "&fieldSelector=" + kube::EscapeQuery("status.phase!=Succeeded,status.phase!=Failed");
    return want;
  }
};

}  // namespace

Status ReadPodsOf(Session& session, const api::Workload& own, std::size_t most, ClusterView& view) {
  const PodMarks marks = PodMarksOf(own);
  const Result<std::vector<Want>> wants = WantsOf(session, own, marks, most);
  if (!wants && wants.error().code != ErrorCode::kForbidden) return wants.error();
  if (!wants) AddOnce(view.hidden, "pods");
  if (!wants) return OkStatus();
  for (Result<ClusterView>& read : ReadApart(session, *wants)) {
    if (read) {
      if (!marks.group.empty()) {
        std::erase_if(read->pods, [&](const PodView& pod) { return !IsPodOf(pod, own, marks); });
      }
      AddPods(std::move(read->pods), &own, view);
    } else if (read.error().code == ErrorCode::kForbidden) {
      AddOnce(view.hidden, "pods");
    } else if (read.error().code != ErrorCode::kNotFound) {
      return read.error();
    }
  }
  return OkStatus();
}

void ReadPodsOfEach(Session& session, const std::vector<const api::Workload*>& workloads,
                    PodLimits limits, ClusterView& view) {
  std::map<std::pair<std::string, std::string>, PodRequest> by_key;
  std::vector<Want> wants;
  for (const api::Workload* each : workloads) {
    const PodMarks marks = PodMarksOf(*each);
    const std::string& space = each->meta.namespace_name;
    const std::string key = marks.labels.empty() ? "" : marks.labels.begin()->first;
    const std::string name = marks.labels.empty() ? marks.job_name : marks.labels.begin()->second;
    if (!marks.pod_name.empty() && IsDnsSubdomain(marks.pod_name)) {
      wants.push_back({.kind = ViewKind::kPods, .namespace_name = space, .name = marks.pod_name});
    } else if (!marks.group.empty() || (!marks.labels.empty() && IsLabelValue(name))) {
      PodRequest& request = by_key[{space, key}];
      request.space = space;
      request.key = key;
      request.names.push_back(name);
    }
  }
  const std::size_t single = wants.size();
  std::vector<PodRequest> requests;
  for (const auto& [key, request] : by_key) {
    requests.push_back(request);
    wants.push_back(request.AsWant(limits.of_request));
  }
  const auto take = [&view](Result<ClusterView>& read, std::size_t most) {
    if (!read && read.error().code == ErrorCode::kForbidden) AddOnce(view.hidden, "pods");
    const bool is_whole = read && read->pods.size() < most;
    if (is_whole) AddPods(std::move(read->pods), nullptr, view);
    return !read || is_whole;
  };
  std::vector<Want> alone;  // the jobs of requests that have too many pods
  std::vector<Result<ClusterView>> answers = ReadApart(session, wants);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (take(answers[i], limits.of_request) || i < single) continue;
    PodRequest request = requests[i - single];
    if (request.key.empty() || request.names.size() == 1) continue;
    for (std::string& name : std::exchange(request.names, {})) {
      alone.push_back(
          PodRequest{request.space, request.key, {std::move(name)}}.AsWant(limits.of_job));
    }
  }
  for (Result<ClusterView>& answer : ReadApart(session, alone)) take(answer, limits.of_job);
}

}  // namespace berth::view
