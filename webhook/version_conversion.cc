#include "webhook/version_conversion.h"

#include <string>

#include <nlohmann/json.hpp>

namespace berth::webhook {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kGroup = "kueue.x-k8s.io/";
constexpr char kWorkloadClassSource[] = "kueue.x-k8s.io/workloadpriorityclass";
constexpr std::size_t kMaxDomainsOfSlice = 100'000;  // Kueue's limit
constexpr std::size_t kBytesOfValue = 64;            // what a value takes beside its text
constexpr char kPodClassSource[] = "scheduling.k8s.io/priorityclass";

// The object at `key` of `parent`, or null.
Json* Child(Json* parent, const char* key) {
  if (parent == nullptr || !parent->is_object()) return nullptr;
  const auto found = parent->find(key);
  return found == parent->end() || found->is_null() ? nullptr : &*found;
}

std::string Text(Json* parent, const char* key) {
  const Json* value = Child(parent, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

void Drop(Json* parent, const char* key) {
  if (parent != nullptr && parent->is_object()) parent->erase(key);
}

void Rename(Json* parent, const char* from, const char* to) {
  Json* value = Child(parent, from);
  if (value == nullptr) return;
  Json moved = std::move(*value);
  parent->erase(from);
  (*parent)[to] = std::move(moved);
}

// ClusterQueue.

void ReplaceWord(Json* policy, const char* key, const char* old_word) {
  if (Text(policy, key) == old_word) (*policy)[key] = "MayStopSearch";
}

void RaiseClusterQueue(Json& object) {
  Json* spec = Child(&object, "spec");
  Rename(spec, "cohort", "cohortName");
  // The list of names replaces the strategy. An object has both where a v1beta1 manifest is applied
  // to a stored ClusterQueue, which is converted to v1beta1 with a strategy.
  if (Json* names = Child(spec, "admissionChecks"); names != nullptr && names->is_array()) {
    Json checks = Json::array();
    for (const Json& name : *names) checks.push_back(Json{{"name", name}});
    if (!checks.empty()) (*spec)["admissionChecksStrategy"] = Json{{"admissionChecks", checks}};
  }
  Drop(spec, "admissionChecks");
  // An empty strategy is valid and has no effect.
  if (Json* strategy = Child(spec, "admissionChecksStrategy")) {
    Json* listed = Child(strategy, "admissionChecks");
    if (listed == nullptr || listed->empty()) spec->erase("admissionChecksStrategy");
  }
  Json* policy = Child(spec, "flavorFungibility");
  ReplaceWord(policy, "whenCanBorrow", "Borrow");
  ReplaceWord(policy, "whenCanPreempt", "Preempt");
  Json* status = Child(&object, "status");
  Drop(status, "pendingWorkloadsStatus");
  Drop(Child(status, "fairSharing"), "admissionFairSharingStatus");
}

void LowerClusterQueue(Json& object) {
  Json* spec = Child(&object, "spec");
  Rename(spec, "cohortName", "cohort");
  Drop(spec, "concurrentAdmissionPolicy");
}

void RaiseCohort(Json& object) {
  Drop(Child(Child(&object, "status"), "fairSharing"), "admissionFairSharingStatus");
}

// LocalQueue.

void RaiseLocalQueue(Json& object) {
  Json* status = Child(&object, "status");
  Rename(status, "flavorUsage", "flavorsUsage");
  Drop(status, "flavors");
}

void LowerLocalQueue(Json& object) {
  Rename(Child(&object, "status"), "flavorsUsage", "flavorUsage");
}

// Workload: topology. v1beta1 lists domains; v1beta2 has slices that share common parts.

bool AllEqual(const Json& list) {
  for (const Json& each : list) {
    if (each != list.front()) return false;
  }
  return !list.empty();
}

Result<Json> SlicesOf(const Json& domains, std::size_t level_count) {
  Json counts = Json::array();
  std::vector<Json> names(level_count, Json::array());
  for (const Json& domain : domains) {
    const Json values = domain.value("values", Json::array());
    if (values.size() != level_count) {
      return Error{
          ErrorCode::kInvalid,
          "topologyAssignment: the number of values of a domain differs from the number of levels"};
    }
    counts.push_back(domain.value("count", 1));
    for (std::size_t i = 0; i < level_count; ++i) names[i].push_back(values[i]);
  }
  Json values_per_level = Json::array();
  for (const Json& level : names) {
    if (AllEqual(level)) {
      values_per_level.push_back({{"universal", level.front()}});
    } else {
      values_per_level.push_back({{"individual", {{"roots", level}}}});
    }
  }
  Json pod_counts =
      AllEqual(counts) ? Json{{"universal", counts.front()}} : Json{{"individual", counts}};
  return Json::array({Json{{"domainCount", domains.size()},
                           {"podCounts", std::move(pod_counts)},
                           {"valuesPerLevel", std::move(values_per_level)}}});
}

Result<std::string> DomainName(const Json& level, std::size_t index) {
  if (const auto universal = level.find("universal"); universal != level.end()) {
    return universal->get<std::string>();
  }
  const Json& individual = level.at("individual");
  return individual.value("prefix", "") + individual.at("roots").at(index).get<std::string>() +
         individual.value("suffix", "");
}

// A slice of a few bytes can expand to any number of domains, which count against the budget.
Result<std::size_t> CountDomains(const Json& slice, ConversionBudget& budget) {
  const Json& count = slice.at("domainCount");
  const bool is_count = count.is_number_integer() && count >= 1 && count <= kMaxDomainsOfSlice;
  if (!is_count) {
    return Error{ErrorCode::kInvalid,
                 "topologyAssignment.slices.domainCount: must be between 1 and " +
                     std::to_string(kMaxDomainsOfSlice)};
  }
  const auto domains = count.get<std::size_t>();
  if (domains > budget.domains) {
    return Error{ErrorCode::kInvalid,
                 "topologyAssignment.slices: the objects of one request have more than " +
                     std::to_string(ConversionBudget().domains) +
                     " domains: read them in smaller pages (limit=), or in v1beta2"};
  }
  budget.domains -= domains;
  return domains;
}

Result<Json> DomainsOf(const Json& slices, ConversionBudget& budget) {
  Json domains = Json::array();
  for (const Json& slice : slices) {
    const Json& counts = slice.at("podCounts");
    BERTH_TRY(const std::size_t domain_count, CountDomains(slice, budget));
    for (std::size_t i = 0; i < domain_count; ++i) {
      Json values = Json::array();
      for (const Json& level : slice.at("valuesPerLevel")) {
        BERTH_TRY(std::string name, DomainName(level, i));
        if (name.size() + kBytesOfValue > budget.bytes) {
          return Error{ErrorCode::kInvalid,
                       "topologyAssignment.slices: the names of the domains are too long"};
        }
        budget.bytes -= name.size() + kBytesOfValue;
        values.push_back(std::move(name));
      }
      const auto universal = counts.find("universal");
      domains.push_back(
          {{"count", universal != counts.end() ? *universal : counts.at("individual").at(i)},
           {"values", std::move(values)}});
    }
  }
  return domains;
}

template <typename Fn>
Status ForEachAssignment(Json& object, Fn change) {
  Json* list = Child(Child(Child(&object, "status"), "admission"), "podSetAssignments");
  if (list == nullptr || !list->is_array()) return OkStatus();
  for (Json& each : *list) {
    if (Json* assignment = Child(&each, "topologyAssignment")) BERTH_CHECK_OK(change(*assignment));
  }
  return OkStatus();
}

Status RaiseAssignment(Json& assignment) {
  if (assignment.count("domains") == 0) return OkStatus();
  const std::size_t levels = assignment.value("levels", Json::array()).size();
  const Json& domains = assignment["domains"];
  Json slices = Json::array();
  if (!domains.empty()) {
    BERTH_TRY(slices, SlicesOf(domains, levels));
  }
  assignment["slices"] = std::move(slices);
  assignment.erase("domains");
  return OkStatus();
}

Status LowerAssignment(Json& assignment, ConversionBudget& budget) {
  if (assignment.count("slices") == 0) return OkStatus();
  BERTH_TRY(assignment["domains"], DomainsOf(assignment["slices"], budget));
  assignment.erase("slices");
  return OkStatus();
}

Status RaiseWorkload(Json& object) {
  Json* spec = Child(&object, "spec");
  const std::string name = Text(spec, "priorityClassName");
  const std::string source = Text(spec, "priorityClassSource");
  if (!name.empty() && source == kWorkloadClassSource) {
    (*spec)["priorityClassRef"] = {
        {"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", name}};
  } else if (!name.empty() && source == kPodClassSource) {
    (*spec)["priorityClassRef"] = {
        {"group", "scheduling.k8s.io"}, {"kind", "PriorityClass"}, {"name", name}};
  }
  Drop(spec, "priorityClassName");
  Drop(spec, "priorityClassSource");
  Rename(Child(&object, "status"), "accumulatedPastExexcutionTimeSeconds",
         "accumulatedPastExecutionTimeSeconds");
  return ForEachAssignment(object, RaiseAssignment);
}

Status LowerWorkload(Json& object, ConversionBudget& budget) {
  Json* spec = Child(&object, "spec");
  if (Json* ref = Child(spec, "priorityClassRef")) {
    const bool workload_class = Text(ref, "group") == "kueue.x-k8s.io";
    (*spec)["priorityClassName"] = Text(ref, "name");
    (*spec)["priorityClassSource"] = workload_class ? kWorkloadClassSource : kPodClassSource;
    spec->erase("priorityClassRef");
  }
  Drop(spec, "preemptionGates");
  if (Json* pod_sets = Child(spec, "podSets"); pod_sets != nullptr && pod_sets->is_array()) {
    for (Json& pods : *pod_sets) {
      Drop(Child(&pods, "topologyRequest"), "podsetSliceRequiredTopologyConstraints");
    }
  }
  Json* status = Child(&object, "status");
  Drop(status, "preemptionGates");
  Rename(status, "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds");
  return ForEachAssignment(
      object, [&budget](Json& assignment) { return LowerAssignment(assignment, budget); });
}

// MultiKueueCluster.

void RaiseCluster(Json& object) {
  Json* spec = Child(&object, "spec");
  // v1beta1 requires the field, also for a cluster with a profile.
  if (Child(spec, "kubeConfig") != nullptr && Text(Child(spec, "kubeConfig"), "location").empty() &&
      Child(spec, "clusterProfileRef") != nullptr) {
    spec->erase("kubeConfig");
  }
  for (const char* key : {"kubeConfig", "clusterProfileRef"}) {
    if (Json* value = Child(spec, key)) {
      Json moved = std::move(*value);
      spec->erase(key);
      (*spec)["clusterSource"][key] = std::move(moved);
    }
  }
}

void LowerCluster(Json& object) {
  Json* spec = Child(&object, "spec");
  Json* source = Child(spec, "clusterSource");
  if (source == nullptr) return;
  const Json parts = *source;
  spec->erase("clusterSource");
  for (const auto& [key, value] : parts.items()) (*spec)[key] = value;
  if (!spec->contains("kubeConfig")) {
    (*spec)["kubeConfig"] = {{"location", ""}, {"locationType", "Secret"}};
  }
}

Status Change(Json& object, const std::string& kind, bool up, ConversionBudget& budget) {
  if (kind == "ClusterQueue") {
    up ? RaiseClusterQueue(object) : LowerClusterQueue(object);
  } else if (kind == "Cohort") {
    if (up) RaiseCohort(object);
  } else if (kind == "LocalQueue") {
    up ? RaiseLocalQueue(object) : LowerLocalQueue(object);
  } else if (kind == "Workload") {
    return up ? RaiseWorkload(object) : LowerWorkload(object, budget);
  } else if (kind == "MultiKueueCluster") {
    up ? RaiseCluster(object) : LowerCluster(object);
  }
  return OkStatus();
}

Json ConversionFailure(const Json& uid, const std::string& message) {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "ConversionReview"},
          {"response", {{"uid", uid}, {"result", {{"status", "Failed"}, {"message", message}}}}}};
}

}  // namespace

Result<Json> Convert(const Json& object, std::string_view api_version) {
  ConversionBudget budget;
  return Convert(object, api_version, budget);
}

Result<Json> Convert(const Json& object, std::string_view api_version, ConversionBudget& budget) {
  if (!object.is_object() || !object.contains("apiVersion") || !object.contains("kind") ||
      !object["apiVersion"].is_string() || !object["kind"].is_string()) {
    return Error{ErrorCode::kInvalid, "object without apiVersion and kind"};
  }
  const auto from = object["apiVersion"].get<std::string>();
  const auto kind = object["kind"].get<std::string>();
  const auto version = [](std::string_view full) {
    return full.substr(0, kGroup.size()) == kGroup ? full.substr(kGroup.size())
                                                   : std::string_view();
  };
  for (const std::string_view each : {version(from), version(api_version)}) {
    if (each != "v1beta1" && each != "v1beta2") {
      return Error{ErrorCode::kInvalid, "cannot convert " + kind + " from " + from + " to " +
                                            std::string(api_version) +
                                            ": only kueue.x-k8s.io/v1beta1 and v1beta2 are known"};
    }
  }
  Json result = object;
  if (from == api_version) return result;
  try {
    BERTH_CHECK_OK(Change(result, kind, version(api_version) == "v1beta2", budget));
  } catch (const Json::exception& error) {
    return Error{ErrorCode::kInvalid, "cannot convert " + kind + ": " + error.what()};
  }
  result["apiVersion"] = api_version;
  return result;
}

Json AnswerConversion(const Json& review) {
  const Json request = review.is_object() ? review.value("request", Json()) : Json();
  if (!request.is_object()) return ConversionFailure("", "ConversionReview without request");
  const Json uid = request.value("uid", Json(""));
  const Json desired = request.value("desiredAPIVersion", Json());
  const Json objects = request.value("objects", Json());
  if (!desired.is_string() || !objects.is_array()) {
    return ConversionFailure(uid, "request needs desiredAPIVersion and objects");
  }
  Json converted = Json::array();
  ConversionBudget budget;
  for (const Json& object : objects) {
    Result<Json> one = Convert(object, desired.get<std::string>(), budget);
    if (!one) return ConversionFailure(uid, one.error().message);
    converted.push_back(*std::move(one));
  }
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "ConversionReview"},
          {"response",
           {{"uid", uid},
            {"convertedObjects", std::move(converted)},
            {"result", {{"status", "Success"}}}}}};
}

}  // namespace berth::webhook
