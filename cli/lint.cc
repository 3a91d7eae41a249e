#include "cli/lint.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "cli/configuration_file.h"
#include "cli/forecast_cluster.h"
#include "cli/manifest_files.h"
#include "cli/manifest_places.h"
#include "cli/output.h"
#include "cli/planned_jobs.h"
#include "cli/screens/find_named.h"
#include "cli/simulated_cluster.h"
#include "cli/simulated_pools.h"
#include "provisioning/check_settings.h"
#include "simulation/lint.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;
using simulation::LintFinding;
using simulation::LintSeverity;

struct Manifests {
  std::vector<Json> documents;  // no lists
  ManifestPlaces places;
};

std::string WordAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string NameAt(const Json& object) {
  const auto metadata = object.find("metadata");
  return metadata != object.end() && metadata->is_object() ? WordAt(*metadata, "name") : "";
}

void AddFlat(const Json& document, std::vector<Json>& out) {
  if (!document.is_object()) return;
  const auto items = document.find("items");
  if (items == document.end() || !items->is_array()) return out.push_back(document);
  for (const Json& item : *items) {
    if (item.is_object()) out.push_back(item);
  }
}

Status ReadManifestsInto(const std::vector<std::string>& paths, Manifests& manifests) {
  BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(paths));
  for (const std::string& file : files) {
    BERTH_TRY(const std::string text, ReadTextFile(file));
    const auto read = api::ParseYamlStream(text);
    if (!read) return Annotate(read.error(), file);
    for (const api::YamlDocument& document : *read) {
      if (!document.duplicate_keys.empty()) {
        return Error{ErrorCode::kInvalid,
                     file + ": " + document.duplicate_keys.front() + ": stands twice"};
      }
      AddFlat(document.value, manifests.documents);
    }
    manifests.places.Add(file, text);
  }
  return OkStatus();
}

// "team-a/main", or "t4".
std::string FullNameOf(const Json& object) {
  const Json::json_pointer path("/metadata/namespace");
  const bool has_space = object.contains(path) && object.at(path).is_string();
  return (has_space ? object.at(path).get<std::string>() + "/" : "") + NameAt(object);
}

// Kinds that a ClusterView has and simulation::Cluster has not.
bool IsReadAsView(const std::string& kind) {
  return kind == "AdmissionCheck" || kind == "ProvisioningPolicy" ||
         kind == "ProvisioningRequestConfig";
}

std::string GroupOf(const Json& object) {
  const std::string version = WordAt(object, "apiVersion");
  return version.substr(0, version.find('/') + 1);  // empty: the core group
}

// The objects that can be read, and findings on the others.
class ObjectReader {
 public:
  explicit ObjectReader(const std::vector<Json>& documents) {
    for (const Json& document : documents) Read(document);
  }

  const std::vector<Json>& readable() const { return readable_; }
  const std::set<std::string>& unreadable() const { return unreadable_; }
  std::vector<LintFinding> TakeFindings() { return std::move(findings_); }

 private:
  void Read(const Json& object) {
    const std::string kind = WordAt(object, "kind");
    const std::string name = FullNameOf(object);
    if (const Status read = Decode(object); !read) {
      const std::string start = kind + " " + NameAt(object) + ": ";
      std::string message = read.error().message;
      if (message.starts_with(start)) message.erase(0, start.size());
      unreadable_.insert(kind + "/" + NameAt(object));
      findings_.push_back({LintSeverity::kError, "not-readable", kind, name,
                           FieldInMessage(start + message), std::move(message)});
      return;
    }
    if (NameAt(object).empty() || seen_.insert({GroupOf(object) + kind, name}).second) {
      readable_.push_back(object);
      return;
    }
    findings_.push_back({LintSeverity::kError,
                         "object-twice",
                         kind,
                         name,
                         {"metadata", "name"},
                         "the object stands twice: the first one counts here"});
  }

  // Whether each reader of the object takes it.
  static Status Decode(const Json& object) {
    const std::string kind = WordAt(object, "kind");
    if (const auto read = ReadSimulatedCluster({object}); !read) return read.error();
    if (IsReadAsView(kind)) {
      ClusterView view;
      if (Status read = AddDocuments({object}, view); !read) return read;
    }
    if (IsMachine(object)) {
      const auto pools = ReadSimulatedPools({object}, PoolKinds::kNodePoolsAndNodes);
      if (!pools) return pools.error();
    }
    const auto jobs = PlannedJobsOf({object}, {.namespace_name = "default"});
    return jobs ? OkStatus() : Status(jobs.error());
  }

  std::vector<Json> readable_;
  std::set<std::string> unreadable_;
  std::set<std::pair<std::string, std::string>> seen_;  // kinds and names
  std::vector<LintFinding> findings_;
};

Result<simulation::LintInput> InputOf(const std::vector<Json>& documents) {
  simulation::LintInput input;
  BERTH_TRY(input.cluster, ReadSimulatedCluster(documents));
  ClusterView view;
  bool has_nodes = false;
  bool has_others = false;  // NodePools of other clouds, whose nodes are not known
  for (const Json& document : documents) {
    const std::string kind = WordAt(document, "kind");
    if (IsReadAsView(kind)) {
      BERTH_CHECK_OK(AddDocuments({document}, view));
    }
    if (kind == "Topology") input.topologies.insert(NameAt(document));
    has_nodes = has_nodes || IsMachine(document);
    has_others = has_others || (kind == "NodePool" && !IsMachine(document));
    input.parameters.insert(kind + "/" + NameAt(document));
  }
  if (has_nodes && !has_others) {
    BERTH_TRY(const auto pools, ReadSimulatedPools(documents, PoolKinds::kNodePoolsAndNodes));
    for (const auto& pool : pools) input.node_labels.push_back(pool.node.meta.labels);
  }
  for (const api::AdmissionCheck& check : view.admission_checks) {
    const Result<std::string> config = provisioning::ConfigNameOf(check);
    const std::string name = provisioning::PolicyNameOf(
        check, config ? FindNamed(view.provisioning_configs, *config) : nullptr);
    const api::ProvisioningPolicy* policy = FindNamed(view.provisioning_policies, name);
    if (policy != nullptr) input.policies[check.meta.name] = *policy;
  }
  input.checks = std::move(view.admission_checks);
  input.controllers = {api::kProvisioningCheckController, api::kReactiveCheckController};
  return input;
}

Result<std::vector<LintFinding>> FindingsOf(const std::vector<Json>& documents,
                                            const admission::SchedulerConfig& scheduler) {
  ObjectReader reader(documents);
  BERTH_TRY(simulation::LintInput input, InputOf(reader.readable()));
  input.unreadable = reader.unreadable();
  std::vector<LintFinding> findings = reader.TakeFindings();
  for (LintFinding& each : simulation::LintQueues(input)) findings.push_back(std::move(each));
  BERTH_TRY(
      const std::vector<PlannedJob> planned,
      PlannedJobsOf(reader.readable(), {.namespace_name = "default",
                                        .priority_classes = &input.cluster.priority_classes}));
  simulation::Cluster cluster = input.cluster;
  simulation::Prepare(cluster);
  std::vector<simulation::LintJob> jobs;
  for (const PlannedJob& each : planned) {
    auto workload = std::make_shared<api::Workload>(each.workload);
    workload->meta.name = each.name;
    workload->meta.uid = each.name;
    // The queues have no topologies here.
    for (api::PodSet& pods : workload->spec.pod_sets) pods.topology_request.reset();
    jobs.push_back({each.kind, std::move(workload)});
  }
  for (LintFinding& each : simulation::LintJobs(cluster, jobs, scheduler)) {
    findings.push_back(std::move(each));
  }
  return findings;
}

std::string LintText(const std::vector<LintFinding>& findings, const ManifestPlaces& places) {
  std::string text;
  for (const LintFinding& each : findings) {
    const ManifestPlace place = places.Find(each.kind, each.name, each.field);
    text += place.file + ":" + std::to_string(place.line) + ": " + ToString(each.severity) + ": " +
            each.kind + " " + each.name + ": " + each.message + " [" + each.rule + "]\n";
  }
  return text;
}

Json LintJson(const std::vector<LintFinding>& findings, const ManifestPlaces& places) {
  Json list = Json::array();
  for (const LintFinding& each : findings) {
    const ManifestPlace place = places.Find(each.kind, each.name, each.field);
    list.push_back({{"file", place.file},
                    {"line", place.line},
                    {"severity", ToString(each.severity)},
                    {"rule", each.rule},
                    {"kind", each.kind},
                    {"name", each.name},
                    {"field", Join(each.field, ".")},
                    {"message", each.message}});
  }
  return {{"findings", std::move(list)}};
}

std::string Summary(std::size_t errors, std::size_t warnings, std::size_t objects) {
  if (errors + warnings == 0) return std::to_string(objects) + " objects, nothing found\n";
  return std::to_string(errors) + (errors == 1 ? " error, " : " errors, ") +
         std::to_string(warnings) + (warnings == 1 ? " warning\n" : " warnings\n");
}

}  // namespace

int RunLint(const LintFlags& flags) {
  const auto configuration = ReadConfigurationFile(flags.config);
  if (!configuration) return Complain(configuration.error());
  Manifests manifests;
  if (const Status read = ReadManifestsInto(flags.files, manifests); !read) {
    return Complain(read.error());
  }
  admission::SchedulerConfig scheduler = configuration->admission.scheduler;
  scheduler.block_admission = false;
  const auto findings = FindingsOf(manifests.documents, scheduler);
  if (!findings) return Complain(findings.error());
  const auto errors = static_cast<std::size_t>(
      std::count_if(findings->begin(), findings->end(),
                    [](const LintFinding& each) { return each.severity == LintSeverity::kError; }));
  if (flags.output == OutputFormat::kText) {
    Print(LintText(*findings, manifests.places) +
          Summary(errors, findings->size() - errors, manifests.documents.size()));
  } else {
    PrintStructured(LintJson(*findings, manifests.places), flags.output);
  }
  const bool refused = errors > 0 || (flags.strict && !findings->empty());
  return refused ? kExitRefused : kExitAnswered;
}

}  // namespace berth::cli
