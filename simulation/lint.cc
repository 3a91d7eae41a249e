#include "simulation/lint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "api/labels.h"
#include "checks/check_kinds.h"
#include "simulation/lint_quota.h"

namespace berth::simulation {
namespace {

constexpr char kClusterQueueKind[] = "ClusterQueue";
constexpr char kNameOfNamespaceLabel[] = "kubernetes.io/metadata.name";

template <typename T>
std::set<std::string> NamesOf(const std::vector<T>& objects) {
  std::set<std::string> names;
  for (const T& each : objects) names.insert(each.meta.name);
  return names;
}

// Includes the flavors that cannot be read.
std::set<std::string> FlavorsOf(const LintInput& input) {
  constexpr std::string_view kPrefix = "ResourceFlavor/";
  std::set<std::string> names = NamesOf(input.cluster.flavors);
  for (const std::string& each : input.unreadable) {
    if (each.starts_with(kPrefix)) names.insert(each.substr(kPrefix.size()));
  }
  return names;
}

class QueueLint {
 public:
  explicit QueueLint(const LintInput& input)
      : input_(input), cluster_(input.cluster), flavors_(FlavorsOf(input)), quota_(input.cluster) {}

  std::vector<LintFinding> Run() {
    for (const api::Cohort& each : cluster_.cohorts) LintCohort(each);
    for (const api::ResourceFlavor& each : cluster_.flavors) LintFlavor(each);
    for (const api::ClusterQueue& each : cluster_.cluster_queues) LintClusterQueue(each);
    for (const api::LocalQueue& each : cluster_.local_queues) LintLocalQueue(each);
    for (const api::AdmissionCheck& each : input_.checks) LintCheck(each);
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const LintFinding& a, const LintFinding& b) {
                       return std::pair(a.kind, a.name) < std::pair(b.kind, b.name);
                     });
    return std::move(findings_);
  }

 private:
  using Field = std::vector<std::string>;

  void Report(LintSeverity severity, const char* rule, const char* kind, const std::string& name,
              Field field, std::string message) {
    findings_.push_back({severity, rule, kind, name, std::move(field), std::move(message)});
  }
  void ReportError(const char* rule, const char* kind, const std::string& name, Field field,
                   std::string message) {
    Report(LintSeverity::kError, rule, kind, name, std::move(field), std::move(message));
  }
  void Warn(const char* rule, const char* kind, const std::string& name, Field field,
            std::string message) {
    Report(LintSeverity::kWarning, rule, kind, name, std::move(field), std::move(message));
  }

  template <typename T>
  void ReportProblems(const char* kind, const T& object, std::vector<QuotaProblem> problems) {
    for (QuotaProblem& each : problems) {
      Report(each.is_error ? LintSeverity::kError : LintSeverity::kWarning, each.rule, kind,
             object.meta.name, std::move(each.field), std::move(each.message));
    }
  }

  bool IsUnreadable(const char* kind, const std::string& name) const {
    return input_.unreadable.count(std::string(kind) + "/" + name) > 0;
  }

  void LintCohort(const api::Cohort& cohort) {
    const std::string cycle = quota_.CycleAbove(cohort.meta.name);
    if (cycle.empty()) return ReportProblems("Cohort", cohort, quota_.ProblemsOf(cohort, flavors_));
    ReportError("cohort-cycle", "Cohort", cohort.meta.name, {"spec", "parentName"},
                "the parents form a cycle, and no queue below it admits anything: " + cycle);
  }

  void LintFlavor(const api::ResourceFlavor& flavor) {
    const std::string& name = flavor.meta.name;
    LintNodes(flavor);
    if (!flavor.topology_name.empty() && input_.topologies.count(flavor.topology_name) == 0) {
      ReportError("unknown-topology", "ResourceFlavor", name, {"spec", "topologyName"},
                  "Topology " + flavor.topology_name +
                      " is not among the files: the queues of the flavor are inactive without it");
    }
    if (quota_.IsOffered(name)) return;
    Warn("flavor-in-no-queue", "ResourceFlavor", name, {"metadata", "name"},
         "no ClusterQueue and no Cohort has quota of the flavor: nobody can get it");
  }

  // Compares the flavor with the Nodes and NodePools among the files.
  void LintNodes(const api::ResourceFlavor& flavor) {
    if (flavor.node_labels.empty() || input_.node_labels.empty()) return;
    const auto has_labels = [&flavor](const api::StringMap& node) {
      return std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(),
                         [&node](const auto& label) {
                           const std::string* value = api::FindValue(node, label.first);
                           return value != nullptr && *value == label.second;
                         });
    };
    if (std::any_of(input_.node_labels.begin(), input_.node_labels.end(), has_labels)) return;
    Warn("flavor-without-nodes", "ResourceFlavor", flavor.meta.name, {"spec", "nodeLabels"},
         "no Node and no NodePool of the files has these labels: pods of the flavor find no node");
  }

  void LintClusterQueue(const api::ClusterQueue& queue) {
    const std::string& name = queue.meta.name;
    const bool has_local =
        std::any_of(input_.unreadable.begin(), input_.unreadable.end(),
                    [](const std::string& each) { return each.starts_with("LocalQueue/"); }) ||
        std::any_of(cluster_.local_queues.begin(), cluster_.local_queues.end(),
                    [&name](const api::LocalQueue& each) { return each.cluster_queue == name; });
    // A queue that selects no namespace is there to lend alone.
    const bool only_lends = !queue.spec.namespace_selector && quota_.Lends(queue);
    if (!has_local && !only_lends) {
      Warn("queue-without-localqueue", kClusterQueueKind, name, {"metadata", "name"},
           "no LocalQueue leads to the queue: no job can use its quota");
    }
    if (!queue.spec.namespace_selector && (has_local || queue.spec.cohort_name.empty())) {
      ReportError("no-namespace", kClusterQueueKind, name, {"spec", "namespaceSelector"},
                  "the queue has no namespaceSelector, which selects no namespace: no job is "
                  "admitted ({} selects all)");
    }
    if (queue.spec.stop_policy != api::StopPolicy::kNone) {
      Warn("queue-stopped", kClusterQueueKind, name, {"spec", "stopPolicy"},
           "the queue is stopped: no job is admitted");
    }
    for (std::size_t i = 0; i < queue.spec.admission_checks.size(); ++i) {
      LintCheckOf(queue, i);
      LintSteps(queue, queue.spec.admission_checks[i].check);
    }
    ReportProblems(kClusterQueueKind, queue, quota_.ProblemsOf(queue, flavors_));
    LintPriorities(queue);
  }

  void LintCheckOf(const api::ClusterQueue& queue, std::size_t place) {
    const std::string& check = queue.spec.admission_checks[place].check;
    const bool known =
        std::any_of(input_.checks.begin(), input_.checks.end(),
                    [&check](const api::AdmissionCheck& each) { return each.meta.name == check; });
    if (known || IsUnreadable("AdmissionCheck", check)) return;
    ReportError(
        "unknown-check", kClusterQueueKind, queue.meta.name,
        {"spec", "admissionChecksStrategy", "admissionChecks", std::to_string(place)},
        "AdmissionCheck " + check + " is not among the files: the queue is inactive without it");
  }

  // A job is admitted with the first flavor of the queue that has room: the steps follow the
  // flavor.
  void LintSteps(const api::ClusterQueue& queue, const std::string& check) {
    const auto policy = input_.policies.find(check);
    if (policy == input_.policies.end()) return;
    const auto& groups = queue.spec.resource_groups;
    for (std::size_t at = 0; at < groups.size(); ++at) {
      const auto& flavors = groups[at].flavors;
      // The step of the flavor that comes last in the queue.
      const api::ProvisioningStep* last = nullptr;
      std::ptrdiff_t last_place = -1;
      for (const api::ProvisioningStep& step : policy->second.steps) {
        const auto found = std::find_if(flavors.begin(), flavors.end(), [&step](const auto& each) {
          return each.flavor == step.flavor;
        });
        if (found == flavors.end()) continue;
        const std::ptrdiff_t place = found - flavors.begin();
        if (last != nullptr && place < last_place) {
          Warn("steps-against-flavors", kClusterQueueKind, queue.meta.name,
               {"spec", "resourceGroups", std::to_string(at), "flavors"},
               "flavor " + step.flavor + " stands before flavor " + last->flavor +
                   ", but ProvisioningPolicy " + policy->second.meta.name + " of check " + check +
                   " has step " + last->name + " (" + last->flavor + ") before step " + step.name +
                   " (" + step.flavor + "): jobs get " + step.flavor +
                   " first; write flavors and steps in one order");
          break;
        }
        last = &step;
        last_place = place;
      }
    }
  }

  void LintCheck(const api::AdmissionCheck& check) {
    const std::string& name = check.meta.name;
    const checks::CheckKind* row = checks::FindCheckKind(check.controller_name);
    if (row == nullptr) {
      Warn("check-without-controller", "AdmissionCheck", name, {"spec", "controllerName"},
           "no controller of Berth handles " + check.controller_name +
               ": unless another program does, its jobs wait forever");
      return;
    }
    if (row->parameters_kinds.empty()) return;
    if (!check.parameters) {
      ReportError("check-without-parameters", "AdmissionCheck", name, {"spec"},
                  "the check names no " + checks::ParametersText(*row) + " in spec.parameters");
      return;
    }
    const std::string wanted = check.parameters->kind + "/" + check.parameters->name;
    if (input_.parameters.count(wanted) > 0 || input_.unreadable.count(wanted) > 0) return;
    ReportError("check-without-parameters", "AdmissionCheck", name, {"spec", "parameters", "name"},
                check.parameters->kind + " " + check.parameters->name +
                    " is not among the files: the check is inactive without it");
  }

  void LintLocalQueue(const api::LocalQueue& local) {
    const std::string name = local.meta.key().ToString();
    const auto queue = std::find_if(
        cluster_.cluster_queues.begin(), cluster_.cluster_queues.end(),
        [&local](const api::ClusterQueue& each) { return each.meta.name == local.cluster_queue; });
    if (queue == cluster_.cluster_queues.end()) {
      if (IsUnreadable(kClusterQueueKind, local.cluster_queue)) return;
      ReportError("unknown-queue", "LocalQueue", name, {"spec", "clusterQueue"},
                  "ClusterQueue " + local.cluster_queue +
                      " is not among the files: jobs of the LocalQueue are inadmissible");
      return;
    }
    if (local.stop_policy != api::StopPolicy::kNone) {
      Warn("queue-stopped", "LocalQueue", name, {"spec", "stopPolicy"},
           "the LocalQueue is stopped: no job is admitted");
    }
    if (!queue->spec.namespace_selector) return;
    if (queue->spec.namespace_selector->Matches(LabelsOf(local.meta.namespace_name))) return;
    ReportError("namespace-not-selected", "LocalQueue", name, {"metadata", "namespace"},
                "the namespaceSelector of ClusterQueue " + local.cluster_queue +
                    " does not select namespace " + local.meta.namespace_name +
                    ": jobs of the LocalQueue are inadmissible");
  }

  api::StringMap LabelsOf(const std::string& namespace_name) const {
    api::StringMap labels;
    for (const api::Namespace& each : cluster_.namespaces) {
      if (each.meta.name == namespace_name) labels = each.meta.labels;
    }
    labels[kNameOfNamespaceLabel] = namespace_name;
    return labels;
  }

  // Priorities below which jobs have no chance while others come.
  void LintPriorities(const api::ClusterQueue& queue) {
    const std::string& name = queue.meta.name;
    const auto& classes = cluster_.priority_classes;
    const auto& preemption = queue.spec.preemption;
    const auto lowest = std::min_element(
        classes.begin(), classes.end(),
        [](const api::PriorityClass& a, const api::PriorityClass& b) { return a.value < b.value; });
    const bool differ = lowest != classes.end() &&
                        std::any_of(classes.begin(), classes.end(),
                                    [&](const auto& each) { return each.value > lowest->value; });
    if (differ && preemption.within_cluster_queue == api::PreemptionPolicy::kLowerPriority) {
      Warn("priority-starves", kClusterQueueKind, name,
           {"spec", "preemption", "withinClusterQueue"},
           "every other class preempts jobs of the lowest WorkloadPriorityClass " +
               lowest->meta.name +
               ", however long they ran: a queue that is never idle starves "
               "them");
    }
    const std::string taker = quota_.ReclaimerOf(queue);
    if (!taker.empty()) {
      Warn("priority-starves", kClusterQueueKind, name, {"spec", "resourceGroups"},
           "the queue has no quota of its own: ClusterQueue " + taker +
               " (reclaimWithinCohort: Any) takes back whatever its jobs run on, at any priority");
    }
  }

  const LintInput& input_;
  const Cluster& cluster_;
  const std::set<std::string> flavors_;
  const LintQuota quota_;
  std::vector<LintFinding> findings_;
};

}  // namespace

const char* ToString(LintSeverity severity) {
  return severity == LintSeverity::kError ? "error" : "warning";
}

std::vector<LintFinding> LintQueues(const LintInput& input) { return QueueLint(input).Run(); }

}  // namespace berth::simulation
