#include "view/screens/pods_of_job.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/labels.h"
#include "base/strings.h"
#include "view/screens/json_at.h"

namespace berth::view {

// By which label the pods of the kind are found.
enum class PodsBy : std::uint8_t {
  kJobName,
  kJobSetName,
  kTrainingName,  // and the operator's name
  kRayCluster,    // the RayCluster of this name
  kRayClusterInStatus,
  kSparkName,
  kPodGroup
};

struct JobKindWords {
  const char* singular;
  const char* short_word;  // empty: none
  const char* group;
  const char* version;
  PodsBy pods_by;
  const char* more;  // the operator's name, or the path of the cluster's name
};

namespace {

using Json = nlohmann::json;

constexpr char kJobSetName[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kTrainingName[] = "training.kubeflow.org/job-name";
constexpr char kTrainingOperator[] = "training.kubeflow.org/operator-name";
constexpr char kRayCluster[] = "ray.io/cluster";
constexpr char kSparkName[] = "sparkoperator.k8s.io/app-name";

constexpr JobKindWords kKinds[] = {
    {"job", "", "batch", "v1", PodsBy::kJobName, ""},
    {"jobset", "", "jobset.x-k8s.io", "v1alpha2", PodsBy::kJobSetName, ""},
    {"trainjob", "", "trainer.kubeflow.org", "v1alpha1", PodsBy::kJobSetName, ""},
    {"mpijob", "", "kubeflow.org", "v2beta1", PodsBy::kTrainingName, "mpi-operator"},
    {"pytorchjob", "", "kubeflow.org", "v1", PodsBy::kTrainingName, "pytorchjob-controller"},
    {"tfjob", "", "kubeflow.org", "v1", PodsBy::kTrainingName, "tfjob-controller"},
    {"xgboostjob", "", "kubeflow.org", "v1", PodsBy::kTrainingName, "xgboostjob-controller"},
    {"paddlejob", "", "kubeflow.org", "v1", PodsBy::kTrainingName, "paddlejob-controller"},
    {"jaxjob", "", "kubeflow.org", "v1", PodsBy::kTrainingName, "jaxjob-controller"},
    {"raycluster", "", "ray.io", "v1", PodsBy::kRayCluster, ""},
    {"rayjob", "", "ray.io", "v1", PodsBy::kRayClusterInStatus, "/status/rayClusterName"},
    {"rayservice", "", "ray.io", "v1", PodsBy::kRayClusterInStatus,
     "/status/activeServiceStatus/rayClusterName"},
    {"sparkapplication", "sparkapp", "sparkoperator.k8s.io", "v1beta2", PodsBy::kSparkName, ""},
    {"pod", "po", "", "v1", PodsBy::kPodGroup, ""}};

const JobKindWords* FindKind(const std::string& type, const std::string& group) {
  for (const JobKindWords& kind : kKinds) {
    if (!group.empty() && group != kind.group) continue;
    const std::string singular = kind.singular;
    if (type == singular || type == singular + "s" || (!type.empty() && type == kind.short_word)) {
      return &kind;
    }
  }
  return nullptr;
}

Error NotAJob(const std::string& text) {
  std::string known;
  for (const JobKindWords& kind : kKinds)
    known += (known.empty() ? "" : ", ") + std::string(kind.singular);
  return {ErrorCode::kInvalid,
          "--for \"" + text + "\": must be TYPE[.GROUP]/NAME, with a TYPE of these: " + known};
}

// The labels of the pods of a job. `value`: of the first label.
api::StringMap LabelsOf(const JobKindWords& kind, const std::string& value) {
  switch (kind.pods_by) {
    case PodsBy::kJobName: return {{api::kJobNameLabel, value}};
    case PodsBy::kJobSetName: return {{kJobSetName, value}};
    case PodsBy::kTrainingName: return {{kTrainingName, value}, {kTrainingOperator, kind.more}};
    case PodsBy::kRayCluster:
    case PodsBy::kRayClusterInStatus: return {{kRayCluster, value}};
    case PodsBy::kSparkName: return {{kSparkName, value}};
    case PodsBy::kPodGroup: return {{api::kPodGroupNameLabel, value}};
  }
  return {};
}

bool HasLabel(const PodView& pod, const std::string& key, const std::string& value) {
  if (key == api::kJobNameLabel) return pod.job_name == value;
  const auto found = pod.job_labels.find(key);
  return found != pod.job_labels.end() && found->second == value;
}

std::string Title(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string CellText(const Json& cell) {
  return cell.is_string() ? cell.get<std::string>() : api::FormatJson(cell);
}

}  // namespace

std::string JobReference::ListPath(const std::string& namespace_name) const {
  std::string path = *kind->group == '\0' ? "/api/" : "/apis/" + std::string(kind->group) + "/";
  path += kind->version;
  if (!namespace_name.empty()) path += "/namespaces/" + namespace_name;
  return path + "/" + kind->singular + "s";
}

Result<JobReference> JobReferenceOf(const api::OwnerReference& owner) {
  const std::size_t slash = owner.api_version.find('/');
  const std::string group =
      slash == std::string::npos ? "" : "." + owner.api_version.substr(0, slash);
  return ParseJobReference(owner.kind + group + "/" + owner.name);
}

Result<JobReference> ParseJobReference(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) return NotAJob(text);
  const std::string type = ToLower(text.substr(0, slash));
  const std::size_t dot = type.find('.');
  const JobKindWords* kind =
      FindKind(type.substr(0, dot), dot == std::string::npos ? "" : type.substr(dot + 1));
  if (kind == nullptr) return NotAJob(text);
  return JobReference{kind, text.substr(slash + 1)};
}

std::string PodSelectorOf(const JobReference& reference, const Json& job) {
  std::string value = reference.name;
  if (reference.kind->pods_by == PodsBy::kRayClusterInStatus) {
    value = TextAt(job, Json::json_pointer(reference.kind->more));
  } else if (reference.kind->pods_by == PodsBy::kPodGroup) {
    value = TextAt(job, Json::json_pointer("/metadata/labels") / api::kPodGroupNameLabel);
  }
  if (value.empty()) return {};
  std::vector<std::string> terms;
  for (const auto& [key, wanted] : LabelsOf(*reference.kind, value)) {
    terms.push_back(key + "=" + wanted);
  }
  return Join(terms, ",");
}

const std::vector<const char*>& JobPodLabels() {
  static const std::vector<const char*> keys{kJobSetName, kTrainingName, kTrainingOperator,
                                             kRayCluster, kSparkName};
  return keys;
}

PodMarks PodMarksOf(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  // The Workload of a pod group has the name of the group.
  if (owner == nullptr) return {.group = workload.meta.name};
  const Result<JobReference> job = JobReferenceOf(*owner);
  // Kinds of users often make a Job of their own name.
  if (!job) return {.labels = {{api::kJobNameLabel, owner->name}}};
  if (job->kind->pods_by == PodsBy::kRayClusterInStatus) return {.is_told_by_job = true};
  if (job->kind->pods_by == PodsBy::kPodGroup) return {.pod_name = owner->name};
  return {.labels = LabelsOf(*job->kind, owner->name)};
}

bool IsPodOf(const PodView& pod, const api::Workload& workload, const PodMarks& marks) {
  if (pod.namespace_name != workload.meta.namespace_name) return false;
  if (pod.workload == workload.meta.name) return true;
  if (!marks.pod_name.empty()) return pod.name == marks.pod_name;
  if (!marks.group.empty()) return pod.group == marks.group;
  return !marks.labels.empty() &&
         std::all_of(marks.labels.begin(), marks.labels.end(), [&pod](const auto& wanted) {
           return HasLabel(pod, wanted.first, wanted.second);
         });
}

std::string RenderServerTable(const Json& table, bool with_namespace, const TextStyle& style) {
  std::vector<Column> columns;
  std::vector<std::size_t> shown;
  if (with_namespace) columns.push_back({"NAMESPACE"});
  const Json definitions = table.value("columnDefinitions", Json::array());
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    if (definitions[i].value("priority", 0) != 0) continue;
    columns.push_back({Title(definitions[i].value("name", ""))});
    shown.push_back(i);
  }
  TextTable text(std::move(columns));
  for (const Json& row : table.value("rows", Json::array())) {
    std::vector<std::string> cells;
    if (with_namespace)
      cells.push_back(TextAt(row, Json::json_pointer("/object/metadata/namespace")));
    const Json values = row.value("cells", Json::array());
    for (const std::size_t i : shown) cells.push_back(i < values.size() ? CellText(values[i]) : "");
    text.AddRow(std::move(cells));
  }
  return text.empty() ? "No resources found\n" : text.Render(style);
}

}  // namespace berth::view
