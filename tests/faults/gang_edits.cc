#include "tests/faults/gang_edits.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "scenarios/world/sim_runner.h"
#include "tests/faults/jobs_maker.h"
#include "tests/faults/jobset_play.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr char kGangLine[] = "local-queue qgang -> cqgang";

class GangMaker : private JobsMaker {
 public:
  GangMaker(Story& story, Random& random, const PolicyTraits& traits)
      : JobsMaker(story, random), traits_(traits) {}

  void MakeSets() {
    if (!HasFramework(story_, kJobSetFramework)) AddFramework(story_, kJobSetFramework);
    const std::uint64_t sets = 1 + random_.Below(2);
    for (std::uint64_t i = 0; i < sets; ++i) {
      const Json set = {
          {"apiVersion", std::string(kJobSetGroup) + "/" + kJobSetVersion},
          {"kind", "JobSet"},
          {"metadata",
           {{"name", "twopools" + std::to_string(i)},
            {"namespace", "default"},
            {"labels", {{"kueue.x-k8s.io/queue-name", "qpolicy"}}}}},
          {"spec",
           {{"suspend", true},
            {"replicatedJobs", Json::array({PartOn("near", "pspot"), PartOn("far", "pdemand")})}}}};
      Apply(Moment(), set);
    }
  }

  void MakeGangs() {
    std::string queue = "cluster-queue cqgang checks=nodes";
    for (const char* name : {"glow", "gdemand"}) {
      const std::string pool = name;
      story_.setup.push_back("pool " + pool +
                             " machine=n1-standard-8 gpu=nvidia-tesla-t4*1 max=20" +
                             " boot=" + Number(5, 30) + " idle=" + Number(20, 90));
      if (pool == "glow" && traits_.evict_after > 0) {
        story_.setup.back() += " evict-after=" + std::to_string(traits_.evict_after);
      }
      story_.setup.push_back("flavor " + pool + " label=cloud.google.com/gke-nodepool=" + pool);
      queue += " " + pool + "/cpu=40 " + pool + "/nvidia.com/gpu=" + Number(3, 6);
    }
    story_.setup.emplace_back(
        "apply <<EOF\n"
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
        "metadata: {name: berth-placeholder}\nvalue: -1000000\npreemptionPolicy: Never\nEOF");
    story_.setup.push_back(Policy());
    story_.setup.emplace_back(
        "apply <<EOF\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\n"
        "metadata: {name: nodes, annotations: {berth.dev/provisioning-policy: gangs}}\n"
        "spec: {controllerName: berth.dev/reactive-capacity}\nEOF");
    story_.setup.push_back(std::move(queue));
    story_.setup.emplace_back(kGangLine);
    MakeJobs();
    Edit();
  }

 private:
  std::string Number(std::uint64_t low, std::uint64_t high) {
    return std::to_string(low + random_.Below(high - low + 1));
  }

  // One Job of the set, whose pods need a machine each of the pool.
  Json PartOn(const std::string& name, const std::string& pool) {
    const std::uint64_t pods = 1 + random_.Below(2);
    const Json requests = {{"cpu", "1"}, {"nvidia.com/gpu", "1"}};
    const Json pod = {
        {"restartPolicy", "Never"},
        {"nodeSelector", {{"cloud.google.com/gke-nodepool", pool}}},
        {"tolerations", Json::array({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}})},
        {"containers",
         Json::array({{{"name", "main"},
                       {"image", kSimImage},
                       {"args", Json::array({Number(3, 40) + "s"})},
                       {"resources", {{"requests", requests}, {"limits", requests}}}}})}};
    return {{"name", name},
            {"replicas", 1},
            {"template",
             {{"spec",
               {{"parallelism", pods},
                {"completions", pods},
                {"backoffLimit", 1000},
                {"template", {{"spec", pod}}}}}}}};
  }

  std::string Policy() {
    std::string spec =
        "placeholders: {priorityClassName: berth-placeholder, timeoutSeconds: " + Number(30, 90) +
        "}, cycleAfterSeconds: " + Number(5, 40);
    // Cut off and not left out: a story of an earlier seed draws its numbers in the same order.
    if (traits_.reacts) spec.erase(0, spec.find("cycleAfterSeconds"));
    const std::string price = traits_.pays ? ", pricePerHour: \"0.5\"" : "";
    spec += ", steps: [{name: low, flavor: glow, maxAttempts: " + Number(1, 2) +
            ", maxWaitSeconds: " + Number(30, 90) + price + "}, {name: demand, flavor: gdemand" +
            price + "}]";
    // A gang of two for 3000 s costs 0.84 USD.
    if (traits_.pays) spec += ", budget: {perLocalQueueUSDPerDay: \"2\"}";
    if (OneIn(2)) spec += ", onRevoked: Requeue";
    if (OneIn(3)) spec += ", stock: Ignored";
    return "apply <<EOF\napiVersion: provisioning.berth.dev/v1alpha1\nkind: ProvisioningPolicy\n"
           "metadata: {name: gangs}\nspec: {" +
           spec + "}\nEOF";
  }

  void MakeJobs() {
    const std::uint64_t jobs = 1 + random_.Below(3);
    for (std::uint64_t i = 0; i < jobs; ++i) {
      At(Moment(), "job gang" + std::to_string(i) + " queue=qgang cpu=1 gpu=1 parallelism=" +
                       Number(2, 3) + " backoff-limit=1000 runs=" + Number(2, 60) + "s" +
                       (traits_.pays ? " deadline=3000" : ""));
    }
  }

  void Edit() {
    for (std::uint64_t i = random_.Below(3); i > 0; --i) {
      const Duration at = Moment();
      const std::string pool = OneIn(3) ? "gdemand" : "glow";
      At(at, "set nodepool " + pool + " stock=" + Number(0, 2));
      At(at + seconds(5 + random_.Below(60)), "set nodepool " + pool + " stock=9");
    }
    if (OneIn(4)) {
      const Duration at = Moment();
      At(at, "patch provisioningpolicy gangs <<EOF\nspec: {placeholders: null}\nEOF");
      At(at + seconds(1 + random_.Below(40)), Policy());
    }
    if (OneIn(5)) At(Moment(), "delete workload of gang0");
    for (const char* pool : {"glow", "gdemand"}) {
      At(story_.length, std::string("set nodepool ") + pool + " stock=9");
    }
    if (traits_.evict_after > 0) {
      At(story_.length, "patch nodepool glow <<EOF\nspec: {eviction: null}\nEOF");
    }
    // A policy that is made again comes up to 41 s after the length.
    if (traits_.pays) {
      At(story_.length + seconds(50),
         "patch provisioningpolicy gangs <<EOF\nspec: {budget: null}\nEOF");
    }
  }

  const PolicyTraits traits_;
};

}  // namespace

void AddSplitSets(Story& story, Random& random) { GangMaker(story, random, {}).MakeSets(); }

void AddGangs(Story& story, Random& random, const PolicyTraits& traits) {
  GangMaker(story, random, traits).MakeGangs();
}

bool HasGangs(const Story& story) {
  return std::find(story.setup.begin(), story.setup.end(), kGangLine) != story.setup.end();
}

}  // namespace berth::sim
