#include "view/screens/setup_manifests.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace berth::view {
namespace {

constexpr char kCohort[] = "teams";
constexpr char kNamespaceOfSystem[] = "default";  // every cluster has it
constexpr std::string_view kKueue = "kueue.x-k8s.io/v1beta2";

// A name of digits, or a word such as "on", is text only between quotation marks.
std::string Word(const std::string& name) {
  constexpr std::array<std::string_view, 9> kOther{"true", "false", "null", "yes", "no",
                                                   "on",   "off",   "y",    "n"};
  const bool is_plain = (name.front() < '0' || name.front() > '9') &&
                        std::find(kOther.begin(), kOther.end(), name) == kOther.end();
  return is_plain ? name : "\"" + name + "\"";
}

// "---", unless the text is empty, then the first lines of an object.
void Begin(std::string& text, std::string_view comment, std::string_view version,
           std::string_view kind) {
  if (!text.empty()) text += "---\n";
  text += comment;
  text += "apiVersion: " + std::string(version) + "\nkind: " + std::string(kind) + "\n";
}

// The name of the check, and of its parameters; empty: the queues have no check.
std::string CheckOf(const FirstSetup& setup) {
  switch (setup.capacity) {
    case SetupCapacity::kFixed: return "";
    case SetupCapacity::kDws: return "dws";
    case SetupCapacity::kSpot: return "spot-then-on-demand";
    case SetupCapacity::kKarpenter: return "karpenter";
  }
  return "";
}

std::vector<std::string> ResourcesOf(const FirstSetup& setup) {
  std::vector<std::string> names{"cpu", "memory"};
  if (setup.has_gpus) names.emplace_back("gpu");
  return names;
}

void AddFlavor(const FirstSetup& setup, const SetupFlavor& flavor, std::string& text) {
  Begin(text, "# " + flavor.about + "\n", kKueue, "ResourceFlavor");
  text += "metadata: {name: " + flavor.name + "}\n";
  std::string tolerations;
  const auto tolerate = [&tolerations](const std::string& key) {
    tolerations += "  - {key: " + key + ", operator: Exists, effect: NoSchedule}\n";
  };
  if (setup.has_gpus) tolerate(setup.gpu_resource);
  if (!flavor.tolerated.empty()) tolerate(flavor.tolerated);
  if (!flavor.nodes && tolerations.empty()) return;
  text += "spec:\n";
  if (flavor.nodes) {
    text +=
        "  # Pods of the flavor run only on nodes with this label. Write the name of your node "
        "pool.\n"
        "  nodeLabels: {" +
        flavor.nodes->label + ": \"" + flavor.nodes->value + "\"}\n";
  }
  if (!tolerations.empty()) {
    text += "  # Pods of the flavor tolerate the taints of these nodes.\n  tolerations:\n" +
            tolerations;
  }
}

void AddFlavors(const FirstSetup& setup, std::string& text) {
  for (const SetupFlavor& flavor : setup.flavors) AddFlavor(setup, flavor, text);
}

// Each namespace once.
void AddNamespaces(const FirstSetup& setup, std::string& text) {
  const auto add = [&text](const std::string& comment, const std::string& name) {
    if (name == kNamespaceOfSystem) return;
    Begin(text, comment, "v1", "Namespace");
    text += "metadata: {name: " + Word(name) + "}\n";
  };
  if (!setup.namespace_name.empty()) {
    return add("# The namespace of the jobs of all teams.\n", setup.namespace_name);
  }
  for (const SetupTeam& team : setup.teams) {
    add("# The namespace of the jobs of the team.\n", team.name);
  }
}

void AddDws(std::string& text) {
  Begin(text,
        "# A job waits until the cloud has all of its machines; the job holds its quota "
        "meanwhile.\n",
        kKueue, "AdmissionCheck");
  text +=
      "metadata: {name: dws}\n"
      "spec:\n"
      "  controllerName: kueue.x-k8s.io/provisioning-request\n"
      "  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: dws}\n";
  Begin(text, "", kKueue, "ProvisioningRequestConfig");
  text +=
      "metadata: {name: dws}\n"
      "spec:\n"
      "  # GKE answers this class with Dynamic Workload Scheduler.\n"
      "  provisioningClassName: queued-provisioning.gke.io\n"
      "  # Machines are requested for every job. A list of managedResources, such as "
      "[nvidia.com/gpu],\n"
      "  # leaves out the jobs that request none of these resources.\n";
}

void AddPolicy(const FirstSetup& setup, std::string_view steps, std::string& text) {
  Begin(text, "# The order in which machines are tried.\n", "provisioning.berth.dev/v1alpha1",
        "ProvisioningPolicy");
  text += "metadata: {name: " + CheckOf(setup) +
          "}\n"
          "spec:\n"
          "  # A job that loses a node is queued again, in its old place.\n"
          "  onRevoked: Requeue\n"
          "  # Autoscalers do not empty a node on which pods of a job run.\n"
          "  protectPods: true\n"
          "  steps:\n" +
          std::string(steps);
}

void AddReactiveCheck(const FirstSetup& setup, std::string& text) {
  const std::string check = CheckOf(setup);
  Begin(text,
        "# The pods of a job bring their nodes. The check names the cause where nodes do not "
        "come.\n",
        kKueue, "AdmissionCheck");
  text += "metadata:\n  name: " + check +
          "\n"
          "  annotations: {berth.dev/provisioning-policy: " +
          check +
          "}\n"
          "spec: {controllerName: berth.dev/reactive-capacity}\n";
}

void AddCapacity(const FirstSetup& setup, std::string& text) {
  switch (setup.capacity) {
    case SetupCapacity::kFixed: return;
    case SetupCapacity::kDws: return AddDws(text);
    case SetupCapacity::kSpot:
      AddPolicy(setup,
                "  # A job moves on after ten minutes without nodes, and after two losses of a "
                "node.\n"
                "  - {name: spot, flavor: spot, maxWaitSeconds: 600, maxAttempts: 2}\n"
                "  - {name: on-demand, flavor: on-demand}\n",
                text);
      return AddReactiveCheck(setup, text);
    case SetupCapacity::kKarpenter:
      AddPolicy(setup,
                "  # A job without nodes gives its quota back after a quarter of an hour, and is "
                "tried again later.\n"
                "  - {name: karpenter, flavor: karpenter, maxWaitSeconds: 900}\n",
                text);
      return AddReactiveCheck(setup, text);
  }
}

void AddQuotas(const FirstSetup& setup, const SetupTeam& team, std::string& text) {
  std::vector<std::string> covered;
  for (const std::string& name : ResourcesOf(setup)) covered.push_back(ResourceOf(setup, name));
  text +=
      "  resourceGroups:\n"
      "  # A job may request these resources and no others.\n"
      "  - coveredResources: [" +
      Join(covered, ", ") + "]\n    flavors:\n";
  if (setup.flavors.size() > 1) {
    text += "    # A job gets the first of the flavors that has room: spot is tried first.\n";
  }
  for (const SetupFlavor& flavor : setup.flavors) {
    text += "    - name: " + flavor.name +
            "\n"
            "      # The jobs of the team that run request at most this" +
            (setup.borrow ? ", and what the team borrows.\n" : ".\n") + "      resources:\n";
    for (const std::string& name : ResourcesOf(setup)) {
      text += "      - {name: " + ResourceOf(setup, name) +
              ", nominalQuota: " + AmountText(name, team.quota.at(name)) + "}\n";
    }
  }
}

void AddClusterQueue(const FirstSetup& setup, const SetupTeam& team, std::string& text) {
  Begin(text, "# The quota of the team " + team.name + ".\n", kKueue, "ClusterQueue");
  text += "metadata: {name: " + Word(team.name) + "}\nspec:\n";
  if (setup.borrow) {
    text +=
        "  # Queues with one cohortName lend each other the quota that they do not use.\n"
        "  cohortName: " +
        std::string(kCohort) + "\n";
  }
  text +=
      "  # Only jobs of this namespace use the quota.\n"
      "  namespaceSelector:\n"
      "    matchLabels: {kubernetes.io/metadata.name: " +
      Word(NamespaceOf(setup, team)) +
      "}\n"
      "  # A job that fits may pass a job that waits for more quota. With StrictFIFO no job passes "
      "another.\n"
      "  queueingStrategy: BestEffortFIFO\n"
      "  preemption:\n";
  if (setup.borrow) {
    text +=
        "    # The team gets lent quota back at once: jobs that borrowed the quota are queued "
        "again.\n"
        "    reclaimWithinCohort: Any\n";
  }
  text +=
      "    # A job with a higher priority may stop jobs of the team with a lower priority.\n"
      "    withinClusterQueue: LowerPriority\n";
  if (const std::string check = CheckOf(setup); !check.empty()) {
    text +=
        "  # A job with quota also needs the consent of this check.\n"
        "  admissionChecksStrategy:\n"
        "    admissionChecks: [{name: " +
        check + "}]\n";
  }
  AddQuotas(setup, team, text);
}

void AddLocalQueue(const FirstSetup& setup, const SetupTeam& team, std::string& text) {
  Begin(text,
        "# A job names this queue in its label: kueue.x-k8s.io/queue-name: " + team.name + "\n",
        kKueue, "LocalQueue");
  text += "metadata: {namespace: " + Word(NamespaceOf(setup, team)) + ", name: " + Word(team.name) +
          "}\n"
          "spec: {clusterQueue: " +
          Word(team.name) + "}\n";
}

std::string JobOf(const FirstSetup& setup) {
  const SetupTeam& team = setup.teams.front();
  const bool has_gpu = team.quota.at("gpu") > 0;
  std::string text;
  Begin(text, "# A sample Job of the team " + team.name + ".\n", "batch/v1", "Job");
  text += "metadata:\n  name: " + std::string(kSampleJobName) +
          "\n  namespace: " + Word(NamespaceOf(setup, team)) +
          "\n"
          "  # Without this label the Job is not queued.\n"
          "  labels: {kueue.x-k8s.io/queue-name: " +
          Word(team.name) +
          "}\n"
          "spec:\n"
          "  parallelism: 1\n"
          "  completions: 1\n"
          "  # The controller of the queues starts the Job when the Job has quota.\n"
          "  suspend: true\n"
          "  template:\n"
          "    spec:\n"
          "      restartPolicy: Never\n"
          "      containers:\n"
          "      - name: main\n"
          "        image: gcr.io/k8s-staging-perf-tests/sleep:v0.0.3\n"
          "        args: [\"5s\"]\n"
          "        resources:\n"
          "          # The requests of all pods of a job count against the quota.\n"
          "          requests: {cpu: " +
          api::FormatAmount("cpu", kSampleCpu) +
          ", memory: " + api::FormatAmount("memory", kSampleMemory) + "}\n";
  if (has_gpu) text += "          limits: {" + setup.gpu_resource + ": 1}\n";
  return text;
}

}  // namespace

SetupManifests ManifestsOf(const FirstSetup& setup) {
  SetupManifests manifests{.job = JobOf(setup)};
  std::string& text = manifests.queues;
  AddFlavors(setup, text);
  AddNamespaces(setup, text);
  AddCapacity(setup, text);
  for (const SetupTeam& team : setup.teams) {
    AddClusterQueue(setup, team, text);
    AddLocalQueue(setup, team, text);
  }
  text.insert(0,
              "# Queues of teams: docs/guide/queues.md explains the fields. This command makes the "
              "file again:\n# " +
                  CommandOf(setup) + "\n");
  return manifests;
}

}  // namespace berth::view
