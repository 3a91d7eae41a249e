#include "view/screens/adoption.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/api_version.h"
#include "api/labels.h"
#include "api/multikueue.h"
#include "checks/check_kinds.h"
#include "view/screens/json_at.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

std::string NameOf(const std::string& kind, const Json& object) {
  const std::string space = TextAt(object, "/metadata/namespace");
  return kind + " " + (space.empty() ? "" : space + "/") + TextAt(object, "/metadata/name");
}

bool ClaimsDevices(const Json& workload) {
  const Json& sets = ArrayAt(workload, "/spec/podSets");
  return std::any_of(sets.begin(), sets.end(), [](const Json& set) {
    return !ArrayAt(set, "/template/spec/resourceClaims").empty();
  });
}

struct Owner {
  std::string api_version;
  std::string kind;
};

// The owner that controls the Workload, or its only kind of owner: a group of pods has no
// controller.
Owner OwnerOf(const Json& workload) {
  Owner found;
  for (const Json& owner : ArrayAt(workload, "/metadata/ownerReferences")) {
    const bool controls = owner.contains("controller") && owner["controller"] == true;
    if (found.kind.empty() || controls) {
      found = {TextAt(owner, "/apiVersion"), TextAt(owner, "/kind")};
    }
    if (controls) break;
  }
  return found;
}

void CheckWorkload(const Json& workload, AdoptionReport& report) {
  const std::string name = NameOf("workload", workload);
  if (HasTrueCondition(workload, "Finished")) {
    ++report.taken_over["finished Workloads"];
    return;
  }
  const Owner owner = OwnerOf(workload);
  if (owner.kind == "Job" && owner.api_version == "batch/v1") {
    ++report.taken_over["Workloads of Jobs"];
    if (ClaimsDevices(workload)) {
      report.findings.push_back({AdoptionGrade::kMissing, name,
                                 "its pods claim devices (resourceClaims): without a mapping of "
                                 "their class it waits with "
                                 "the reason Misconfigured once it has been stopped"});
    }
    return;
  }
  const std::string group(api::GroupOf(owner.api_version));
  if (report.queued_kinds.contains(group + "/" + owner.kind)) {
    ++report.taken_over["Workloads of " + owner.kind + "s"];
    return;
  }
  const std::string kind = owner.kind.empty() ? "no owner" : owner.kind;
  if (HasTrueCondition(workload, "Admitted")) {
    report.findings.push_back({AdoptionGrade::kStays, name,
                               "of " + kind +
                                   ", which Berth does not queue: it runs on, its quota "
                                   "counts, and it is not preempted"});
  } else {
    report.findings.push_back(
        {AdoptionGrade::kMissing, name,
         "of " + kind +
             ", which Berth does not queue: Berth gives it quota, and no controller starts "
             "its pods. Keep Kueue for this kind, or run it as a Job"});
  }
}

void CheckJob(const Json& job, AdoptionReport& report) {
  const std::string name = NameOf("job", job);
  if (TextAt(job, "/spec/managedBy") == api::kMultiKueueController) {
    report.findings.push_back(
        {AdoptionGrade::kMissing, name, "spec.managedBy is MultiKueue's: Berth has no MultiKueue"});
  }
}

void CheckAdmissionCheck(const Json& check, AdoptionReport& report) {
  const std::string controller = TextAt(check, "/spec/controllerName");
  const checks::CheckKind* row = checks::FindCheckKind(controller);
  if (row != nullptr && row->adoption == checks::Adoption::kTakenOver) {
    ++report.taken_over["AdmissionChecks"];
  } else if (const auto* missing = checks::FindMissingCheck(controller)) {
    report.findings.push_back(
        {AdoptionGrade::kMissing, NameOf("admissioncheck", check),
         std::string("of ") + missing->feature +
             ", which Berth does not have: workloads of its queues wait for it forever"});
  } else {
    report.findings.push_back(
        {AdoptionGrade::kStays, NameOf("admissioncheck", check),
         "of the controller " + controller + ", which continues to decide it"});
  }
}

void CheckDeployment(const Json& deployment, AdoptionReport& report) {
  if (TextAt(deployment, "/metadata/name") != "kueue-controller-manager") return;
  if (WholeAt(deployment, "/spec/replicas", 1) == 0 || RunsBerth(deployment)) return;
  report.findings.push_back(
      {AdoptionGrade::kFirst, NameOf("deployment", deployment),
       "Kueue runs: scale it to 0 before Berth's Deployment of the same name is applied"});
}

// Pods that Kueue manages by themselves (label kueue.x-k8s.io/managed), not by a Job.
void CheckPod(const Json& pod, AdoptionReport& report) {
  if (report.queued_kinds.contains("/Pod")) {
    ++report.taken_over["Pods"];
    return;
  }
  const Json& gates = ArrayAt(pod, "/spec/schedulingGates");
  const bool gated = std::any_of(gates.begin(), gates.end(), [](const Json& gate) {
    return TextAt(gate, "/name") == api::kAdmissionGate;
  });
  if (gated) {
    report.findings.push_back({AdoptionGrade::kMissing, NameOf("pod", pod),
                               "its scheduling gate is Kueue's: no controller opens the gate"});
  }
  const Json& finalizers = ArrayAt(pod, "/metadata/finalizers");
  if (std::find(finalizers.begin(), finalizers.end(), api::kManagedFinalizer) != finalizers.end()) {
    report.findings.push_back(
        {AdoptionGrade::kDiffers, NameOf("pod", pod),
         std::string("has the finalizer ") + api::kManagedFinalizer +
             ", which Berth does not remove: the ended pod is there until a person removes it"});
  }
}

struct Rule {
  const char* plural;
  const char* taken_over;  // counted where there is no check
  void (*check)(const Json&, AdoptionReport&);
};

constexpr Rule kRules[] = {
    {"workloads", nullptr, CheckWorkload},
    {"jobs", nullptr, CheckJob},
    {"pods", nullptr, CheckPod},
    {"admissionchecks", nullptr, CheckAdmissionCheck},
    {"deployments", nullptr, CheckDeployment},
    {"clusterqueues", "ClusterQueues", nullptr},
    {"cohorts", "Cohorts", nullptr},
    {"localqueues", "LocalQueues", nullptr},
    {"resourceflavors", "ResourceFlavors", nullptr},
    {"topologies", "Topologies", nullptr},
    {"workloadpriorityclasses", "WorkloadPriorityClasses", nullptr},
};

// The parameters of checks that Berth takes over, and the kinds of checks that Berth lacks.
// Returns whether a row of checks/ has the kind.
bool CheckParameters(const std::string& plural, const Json& items, AdoptionReport& report) {
  const auto is_wanted = [&plural](const checks::ParametersKind& kind) {
    return plural == kind.plural;
  };
  for (const checks::CheckKind& row : checks::CheckKinds()) {
    const auto kind =
        std::find_if(row.parameters_kinds.begin(), row.parameters_kinds.end(), is_wanted);
    if (row.adoption != checks::Adoption::kTakenOver || kind == row.parameters_kinds.end()) {
      continue;
    }
    if (!items.empty()) report.taken_over[kind->kind + std::string("s")] += items.size();
    return true;
  }
  for (const checks::MissingCheck& row : checks::MissingChecks()) {
    if (std::none_of(row.kinds.begin(), row.kinds.end(), is_wanted)) continue;
    for (const Json& item : items) {
      report.findings.push_back(
          {AdoptionGrade::kMissing, NameOf(plural, item),
           std::string("is kept, and has no effect: Berth has no ") + row.feature});
    }
    return true;
  }
  return false;
}

const char* WordOf(AdoptionGrade grade) {
  switch (grade) {
    case AdoptionGrade::kFirst: return "first";
    case AdoptionGrade::kMissing: return "missing";
    case AdoptionGrade::kDiffers: return "differs";
    case AdoptionGrade::kStays: return "stays";
  }
  return "";
}

std::vector<AdoptionFinding> Sorted(std::vector<AdoptionFinding> findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const AdoptionFinding& one, const AdoptionFinding& other) {
                     return one.grade < other.grade;
                   });
  return findings;
}

}  // namespace

bool RunsBerth(const Json& deployment) {
  const Json& containers = ArrayAt(deployment, "/spec/template/spec/containers");
  return std::any_of(containers.begin(), containers.end(), [](const Json& container) {
    const Json& arguments = ArrayAt(container, "/args");
    return std::find(arguments.begin(), arguments.end(), "controller") != arguments.end();
  });
}

void CheckAdoptionOf(const std::string& plural, const Json& items, AdoptionReport& report) {
  if (CheckParameters(plural, items, report)) return;
  const auto* rule = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const Rule& one) { return plural == one.plural; });
  if (rule == std::end(kRules)) return;
  for (const Json& item : items) {
    if (rule->check != nullptr) {
      rule->check(item, report);
    } else {
      ++report.taken_over[rule->taken_over];
    }
  }
}

bool HasMissing(const AdoptionReport& report) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const auto& finding) { return finding.grade == AdoptionGrade::kMissing; });
}

std::string RenderAdoption(const AdoptionReport& report, const TextStyle& style) {
  std::string text = report.cluster_name + ": Berth can take over";
  if (HasMissing(report)) text += ", but not everything";
  text += "\n\n";
  TextTable counts({{"OBJECTS", Align::kRight}, {"TAKEN OVER"}});
  for (const auto& [what, count] : report.taken_over) {
    counts.AddRow({std::to_string(count), what});
  }
  if (!counts.empty()) text += counts.Render(style);
  TextTable table({{"GRADE"}, {"OBJECT"}, {"WHAT HAPPENS"}});
  for (const AdoptionFinding& finding : Sorted(report.findings)) {
    table.AddRow({WordOf(finding.grade), finding.object, finding.text});
  }
  if (!table.empty()) text += "\n" + table.Render(style);
  if (!report.installation.empty()) {
    text += "\nThe installation before the change:\n" + RenderFindings(report.installation, style);
  }
  return text;
}

Json AdoptionJson(const AdoptionReport& report) {
  Json findings = Json::array();
  for (const AdoptionFinding& finding : Sorted(report.findings)) {
    findings.push_back(
        {{"grade", WordOf(finding.grade)}, {"object", finding.object}, {"text", finding.text}});
  }
  return {{"cluster", report.cluster_name},
          {"takenOver", report.taken_over},
          {"findings", std::move(findings)},
          {"installation", FindingsJson(report.installation)}};
}

}  // namespace berth::view
