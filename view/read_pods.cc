// Reads the pods of a Workload's job, of whichever kind.
#include <algorithm>
#include <cstdint>
#include <iterator>
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

// A pod group is a label of its pods, or an annotation: pods with the annotation are found among
// all pods that queues manage, of which so many are read.
constexpr std::size_t kMostManaged = 500;

// The request for the pods of a Workload; nullopt: nothing tells them.
Result<std::optional<Want>> WantOf(Session& session, const api::Workload& own,
                                   const PodMarks& marks, std::size_t most) {
  const std::string& space = own.meta.namespace_name;
  if (!marks.pod_name.empty()) {
    if (!IsDnsSubdomain(marks.pod_name)) return std::optional<Want>();
    return std::optional(
        Want{.kind = ViewKind::kPods, .namespace_name = space, .name = marks.pod_name});
  }
  std::string selector = SelectorOf(marks);
  if (IsLabelValue(marks.group)) {
    selector = std::string(api::kPodGroupNameLabel) + "=" + marks.group;
  } else if (marks.is_told_by_job) {
    BERTH_TRY(selector, PodSelectorFor(session, own));
  }
  if (selector.empty()) return std::optional<Want>();
  return std::optional(PodsWith(space, selector, most));
}

// The pods of a group by annotation, `most` at most; none where the API server fails.
std::vector<PodView> ManagedPodsOf(Session& session, const api::Workload& own,
                                   const PodMarks& marks, std::size_t most) {
  const Want want = PodsWith(own.meta.namespace_name, ManagedPods(), kMostManaged);
  Result<ClusterView> read = std::move(ReadApart(session, {want}).front());
  if (!read) return {};
  std::vector<PodView> pods = std::move(read->pods);
  std::erase_if(pods, [&](const PodView& pod) { return !IsPodOf(pod, own, marks); });
  pods.resize(std::min(pods.size(), most));
  return pods;
}

std::int64_t PodsOf(const api::Workload& workload) {
  std::int64_t pods = 0;
  if (!workload.status.admission) return pods;
  for (const auto& each : workload.status.admission->pod_set_assignments) pods += each.count;
  return pods;
}

// Workloads whose pods one request reads.
struct PodRequest {
  std::vector<const api::Workload*> workloads;
  Want want;
  std::size_t most = 0;  // an answer with so many pods may lack some

  bool IsWhole(const ClusterView& answer) const {
    return !want.name.empty() || answer.pods.size() < most;
  }
};

// Pods that have ended are on no node. Those that are being replaced count twice.
PodRequest UnendedPods(const std::string& space, const std::string& selector,
                       std::vector<const api::Workload*> workloads) {
  constexpr std::size_t kMost = 2 * kMostPodsOfRequest;
  PodRequest request{
      .workloads = std::move(workloads), .want = PodsWith(space, selector, kMost), .most = kMost};
  request.want.query +=
      "&fieldSelector=" + kube::EscapeQuery("status.phase!=Succeeded,status.phase!=Failed");
  return request;
}

// Jobs of one namespace, named by values of one label.
class LabelledPods {
 public:
  LabelledPods(std::string space, std::string key)
      : space_(std::move(space)), key_(std::move(key)) {}

  void Add(const api::Workload& workload, const std::string& name) {
    const std::int64_t pods = PodsOf(workload);
    if (names_.empty() || pods_ + pods > kMostPodsOfRequest) {
      names_.emplace_back();
      workloads_.emplace_back();
      pods_ = 0;
    }
    names_.back().push_back(name);
    workloads_.back().push_back(&workload);
    pods_ += pods;
  }
  // One request for each kMostPodsOfRequest pods.
  void AppendTo(std::vector<PodRequest>& requests) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string selector = key_ + " in (" + Join(names_[i], ",") + ")";
      requests.push_back(UnendedPods(space_, selector, workloads_[i]));
    }
  }

 private:
  std::string space_;
  std::string key_;
  std::vector<std::vector<std::string>> names_;  // by request
  std::vector<std::vector<const api::Workload*>> workloads_;
  std::int64_t pods_ = 0;  // the pods of the last request
};

std::vector<PodRequest> RequestsFor(const std::vector<const api::Workload*>& workloads) {
  std::map<std::pair<std::string, std::string>, LabelledPods> labelled;
  std::vector<PodRequest> requests;
  for (const api::Workload* each : workloads) {
    if (PodsOf(*each) > kMostPodsOfJob) continue;
    const PodMarks marks = PodMarksOf(*each);
    const std::string& space = each->meta.namespace_name;
    if (!marks.pod_name.empty()) {
      if (!IsDnsSubdomain(marks.pod_name)) continue;
      requests.push_back(
          {.workloads = {each},
           .want = {.kind = ViewKind::kPods, .namespace_name = space, .name = marks.pod_name}});
      continue;
    }
    const bool is_group = !marks.group.empty();
    if (!is_group && marks.labels.empty()) continue;
    const std::string key = is_group ? api::kPodGroupNameLabel : marks.labels.begin()->first;
    const std::string name = is_group ? marks.group : marks.labels.begin()->second;
    if (!IsLabelValue(name)) continue;
    labelled.try_emplace({space, key}, space, key).first->second.Add(*each, name);
  }
  for (const auto& [key, pods] : labelled) pods.AppendTo(requests);
  return requests;
}

// Groups of which no pod has the label of its group.
std::vector<PodRequest> RequestsForAnnotated(const std::vector<const api::Workload*>& workloads,
                                             const ClusterView& view) {
  std::map<std::string, std::vector<const api::Workload*>> by_space;
  for (const api::Workload* each : workloads) {
    const PodMarks marks = PodMarksOf(*each);
    const bool is_known = std::any_of(view.pods.begin(), view.pods.end(), [&](const PodView& pod) {
      return IsPodOf(pod, *each, marks);
    });
    if (marks.group.empty() || is_known || PodsOf(*each) > kMostPodsOfJob) continue;
    by_space[each->meta.namespace_name].push_back(each);
  }
  std::vector<PodRequest> requests;
  for (const auto& [space, groups] : by_space) {
    requests.push_back(UnendedPods(space, ManagedPods(), groups));
  }
  return requests;
}

}  // namespace

Status ReadPodsOf(Session& session, const api::Workload& own, std::size_t most, ClusterView& view) {
  const PodMarks marks = PodMarksOf(own);
  const Result<std::optional<Want>> want = WantOf(session, own, marks, most);
  if (!want && want.error().code != ErrorCode::kForbidden) return want.error();
  if (!want) AddOnce(view.hidden, "pods");
  if (!want) return OkStatus();
  std::vector<PodView> pods;
  if (*want) {
    Result<ClusterView> read = std::move(ReadApart(session, {**want}).front());
    if (read) {
      pods = std::move(read->pods);
    } else if (read.error().code == ErrorCode::kForbidden) {
      AddOnce(view.hidden, "pods");
      return OkStatus();
    } else if (read.error().code != ErrorCode::kNotFound) {
      return read.error();
    }
  }
  if (pods.empty() && !marks.group.empty()) pods = ManagedPodsOf(session, own, marks, most);
  for (PodView& pod : pods) pod.workload = own.meta.name;
  AddPods(std::move(pods), view);
  return OkStatus();
}

PodsOfEach ReadPodsOfEach(Session& session, const std::vector<const api::Workload*>& workloads,
                          ClusterView& view) {
  PodsOfEach told;
  const auto read = [&](const std::vector<PodRequest>& requests) {
    std::vector<Want> wants;
    for (const PodRequest& request : requests) wants.push_back(request.want);
    std::vector<Result<ClusterView>> answers = ReadApart(session, wants);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const PodRequest& request = requests[i];
      if (answers[i]) {
        if (request.IsWhole(*answers[i])) AddPods(std::move(answers[i]->pods), view);
      } else if (answers[i].error().code == ErrorCode::kForbidden) {
        told.hidden.insert(request.want.namespace_name);
      } else if (answers[i].error().code != ErrorCode::kNotFound) {
        told.failed.insert(request.workloads.begin(), request.workloads.end());
      }
    }
  };
  read(RequestsFor(workloads));
  std::vector<const api::Workload*> open;
  std::copy_if(workloads.begin(), workloads.end(), std::back_inserter(open), [&](const auto* each) {
    return !told.failed.contains(each) && !told.hidden.contains(each->meta.namespace_name);
  });
  read(RequestsForAnnotated(open, view));
  return told;
}

}  // namespace berth::view
