// Reads the pods of a Workload's job, of whichever kind.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

std::string SelectorOf(const PodMarks& marks) {
  std::vector<std::string> terms;
  for (const auto& [key, value] : marks.labels) terms.push_back(key + "=" + value);
  return Join(terms, ",");
}

}  // namespace

Status ReadPodsOf(Session& session, const api::Workload& own, std::size_t most, ClusterView& view) {
  const PodMarks marks = PodMarksOf(own);
  Want want{.kind = ViewKind::kPods, .namespace_name = own.meta.namespace_name};
  if (!marks.pod_name.empty()) {
    want.name = marks.pod_name;
  } else {
    std::string selector = SelectorOf(marks);
    if (selector.empty()) {
      Result<std::string> read = PodSelectorFor(session, own);
      if (!read && read.error().code == ErrorCode::kForbidden) {
        view.hidden.emplace_back("pods");
        return OkStatus();
      }
      BERTH_TRY(selector, std::move(read));
    }
    if (selector.empty()) return OkStatus();
    want.query = "labelSelector=" + kube::EscapeQuery(selector) + "&limit=" + std::to_string(most);
  }
  const std::size_t others = view.pods.size();
  BERTH_TRY(const std::vector<Got> got, ReadInto(session, {want}, view));
  if (got.front() == Got::kForbidden) view.hidden.emplace_back("pods");
  for (std::size_t i = others; i < view.pods.size(); ++i) view.pods[i].workload = own.meta.name;
  return OkStatus();
}

Status ReadPodsOfEach(Session& session, const std::vector<const api::Workload*>& workloads,
                      std::size_t most, ClusterView& view) {
  using NamespaceAndKey = std::pair<std::string, std::string>;
  std::map<NamespaceAndKey, std::vector<std::string>> names;
  std::vector<Want> wants;
  for (const api::Workload* each : workloads) {
    const PodMarks marks = PodMarksOf(*each);
    const std::string& space = each->meta.namespace_name;
    if (!marks.pod_name.empty()) {
      wants.push_back({.kind = ViewKind::kPods, .namespace_name = space, .name = marks.pod_name});
      continue;
    }
    if (marks.labels.empty()) continue;
    const auto& [key, name] = *marks.labels.begin();  // the label that names the job
    if (IsDnsSubdomain(name)) names[{space, key}].push_back(name);
  }
  for (const auto& [of, values] : names) {
    wants.push_back({.kind = ViewKind::kPods,
                     .namespace_name = of.first,
                     .query = "labelSelector=" +
                              kube::EscapeQuery(of.second + " in (" + Join(values, ",") + ")") +
                              "&limit=" + std::to_string(most)});
  }
  BERTH_TRY(const std::vector<Got> got, ReadInto(session, wants, view));
  if (std::find(got.begin(), got.end(), Got::kForbidden) != got.end()) {
    view.hidden.emplace_back("pods");
  }
  return OkStatus();
}

}  // namespace berth::view
