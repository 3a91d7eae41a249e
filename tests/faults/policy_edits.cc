#include "tests/faults/policy_edits.h"

#include <algorithm>
#include <array>
#include <string>

#include "tests/faults/gang_edits.h"

namespace berth::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kQueueLine[] = "local-queue qpolicy -> cqpolicy";

std::string Number(Random& random, std::uint64_t low, std::uint64_t high) {
  return std::to_string(low + random.Below(high - low + 1));
}

Duration MomentOf(const Story& story, Random& random) {
  const auto length = std::chrono::duration_cast<milliseconds>(story.length).count();
  return milliseconds(random.Below(static_cast<std::uint64_t>(length)));
}

std::string PoolLine(const std::string& name, Random& random) {
  return "pool " + name + " machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=20 boot=" +
         Number(random, 5, 30) + " idle=" + Number(random, 20, 90) +
         " grant=" + Number(random, 1, 20);
}

constexpr char kZones[] = "zones: [us-central1-a, us-central1-b]";

// Limits that make each way through the chain likely within a short story.
std::string Steps(Random& random, const PolicyTraits& traits) {
  std::string spot = "{name: spot, flavor: spot, maxAttempts: " + Number(random, 1, 3);
  if (random.Below(2) == 0) spot += ", maxWaitSeconds: " + Number(random, 10, 60);
  if (traits.races) spot += std::string(", ") + kZones;
  // One node is too few for two pods.
  spot += ", pool: {name: pspot, maxNodes: " + Number(random, 1, 4) +
          ", node: {nvidia.com/gpu: 1}}, pricePerHour: \"0.26\"";
  if (traits.weighs) spot += ", minEtaGainSeconds: 5";
  if (traits.leaves) spot += ", parameters: {maxRunDurationSeconds: \"180\"}";
  spot += "}";
  std::string demand = "{name: demand, flavor: demand, pricePerHour: \"0.89\"";
  if (random.Below(3) == 0) demand += ", maxAttempts: " + Number(random, 1, 2);
  // Longer than a grant takes, so that a job can come to its end, and than stuckAfterSeconds.
  if (traits.holds) demand += ", maxWaitSeconds: 70";
  return "steps: [" + spot + ", " + demand + "}]";
}

std::string Race(const PolicyTraits& traits, Random& more) {
  std::string race = "race: {width: " + Number(more, 1, 2);
  race += ", staggerSeconds: " + Number(more, 0, 15);
  if (traits.keeps) race += ", keepSurplusSeconds: 60";
  return race + "}";
}

// A job of one pod costs 0.22 USD on spot and 0.74 on demand, where its run is known.
std::string Budget(Random& more) {
  static constexpr std::array<const char*, 4> kAmounts{"0.3", "0.8", "1.6", "4"};
  std::string budget = "budget: {perLocalQueueUSDPerDay: \"";
  budget += std::string(kAmounts.at(more.Below(kAmounts.size()))) + "\"";
  if (more.Below(3) == 0) budget += ", perWorkloadUSD: \"0.5\"";
  if (more.Below(4) == 0) budget += ", action: Warn";
  return budget + "}";
}

std::string Reuse(const PolicyTraits& traits, Random& more) {
  const bool is_off = more.Below(5) == 0 && !traits.prewarms && !traits.keeps;
  const std::string enabled = is_off ? "false" : "true";
  const std::string rule = more.Below(2) == 0 ? "Any" : "WholeSet";
  return "reuse: {enabled: " + enabled + ", shapeRule: " + rule + ", minLifeSeconds: 60}";
}

std::string SplitRule(const PolicyTraits& traits, Random& more) {
  if (traits.splits) return "split: {mode: PerPodSet, holdSeconds: " + Number(more, 60, 120) + "}";
  return "split: {mode: Divide, maxNodesPerRequest: " + Number(more, 1, 2) + "}";
}

// Windows of a minute that begin every second or third minute, or one that is always open.
std::string Prewarm(const PolicyTraits& traits, Random& more) {
  std::string prewarm = "prewarm: {namespace: default, localQueue: qwarm";
  if (more.Below(3) != 0) {
    prewarm += ", schedule: \"*/" + Number(more, 2, 3) + " * * * *\", durationSeconds: 60";
    prewarm += ", leadSeconds: " + Number(more, 0, 30);
    if (traits.naps) prewarm += ", maxIdleSeconds: 15";
  }
  return prewarm + "}";
}

constexpr char kNoEnds[] =
    "whenExhausted: Cycle, rejectHumanCauses: false, bootTimeoutSeconds: null, "
    "evictBeforeSeconds: null";

std::string Ends(const PolicyTraits& traits, Random& more) {
  std::string spec;
  const auto add = [&spec](const std::string& field) {
    spec += (spec.empty() ? "" : ", ") + field;
  };
  if (traits.holds) add("whenExhausted: Hold");
  if (traits.rejects && !traits.holds && more.Below(4) == 0) add("whenExhausted: Reject");
  if (traits.rejects) add("rejectHumanCauses: true");
  if (traits.boots) add("bootTimeoutSeconds: " + Number(more, 60, 75));
  // The capacity lasts 180 s.
  if (traits.leaves) add("evictBeforeSeconds: " + Number(more, 130, 165));
  return spec;
}

std::string ByTraits(const PolicyTraits& traits, Random& more) {
  std::string spec;
  if (const std::string ends = Ends(traits, more); !ends.empty()) spec += ", " + ends;
  if (traits.races) spec += ", " + Race(traits, more);
  if (traits.budgets) spec += ", " + Budget(more);
  if (traits.splits || traits.divides) spec += ", " + SplitRule(traits, more);
  if (!traits.reuses) return spec;
  spec += ", " + Reuse(traits, more);
  if (traits.prewarms) spec += ", " + Prewarm(traits, more);
  if (more.Below(2) == 0) spec += ", latePodSeconds: " + Number(more, 20, 90);
  if (more.Below(2) == 0) spec += ", onLost: Requeue";
  return spec;
}

std::string Policy(Random& random, const PolicyTraits& traits, Random& more) {
  std::string spec = Steps(random, traits) + ", cycleAfterSeconds: " + Number(random, 5, 40);
  if (random.Below(2) == 0) spec += ", onRevoked: Requeue";
  if (random.Below(2) == 0) spec += ", runDuration: {minSeconds: 1200}";
  if (random.Below(3) == 0) spec += ", stock: Ignored";
  if (random.Below(3) == 0) spec += ", stuckAfterSeconds: 60";
  if (random.Below(4) == 0) spec += ", answerTimeoutSeconds: 30";
  return "apply <<EOF\napiVersion: provisioning.berth.dev/v1alpha1\nkind: ProvisioningPolicy\n"
         "metadata: {name: chain}\nspec: {" +
         spec + ByTraits(traits, more) + "}\nEOF";
}

std::string Patch(const std::string& spec) {
  return "patch provisioningpolicy chain <<EOF\nspec: {" + spec + "}\nEOF";
}

void EditStock(Story& story, Random& random) {
  const Duration at = MomentOf(story, random);
  const std::string pool = random.Below(3) == 0 ? "pdemand" : "pspot";
  story.events.push_back({at, "set nodepool " + pool + " stock=" + Number(random, 0, 1)});
  story.events.push_back({at + seconds(5 + random.Below(60)), "set nodepool " + pool + " stock=9"});
}

void EditPolicy(Story& story, Random& random, const PolicyTraits& traits, Random& more) {
  const Duration at = MomentOf(story, random);
  switch (random.Below(4)) {
    case 0: return story.events.push_back({at, Policy(random, traits, more)});
    case 1:
      story.events.push_back({at, "delete provisioningpolicy chain"});
      return story.events.push_back(
          {at + seconds(1 + random.Below(20)), Policy(random, traits, more)});
    case 2:
      story.events.push_back({at, Patch("maxPricePerHour: \"0.5\"")});
      return story.events.push_back(
          {at + seconds(5 + random.Below(30)), Patch("maxPricePerHour: null")});
    default: return story.events.push_back({at, Patch("stock: Ignored")});
  }
}

// Edits of one trait, and machines that go while a Workload may use them.
void EditTraits(Story& story, const PolicyTraits& traits, Random& more) {
  if (traits.races && more.Below(2) == 0) {
    story.events.push_back({MomentOf(story, more), Patch(Race(traits, more))});
  }
  if (traits.budgets && more.Below(2) == 0) {
    story.events.push_back({MomentOf(story, more), Patch(Budget(more))});
  }
  if (traits.reuses && more.Below(2) == 0) {
    story.events.push_back({MomentOf(story, more), Patch(Reuse(traits, more))});
  }
  if ((traits.splits || traits.divides) && more.Below(2) == 0) {
    story.events.push_back({MomentOf(story, more), Patch("split: null")});
    story.events.push_back({MomentOf(story, more), Patch(SplitRule(traits, more))});
  }
  if (traits.prewarms && more.Below(2) == 0) {
    story.events.push_back({MomentOf(story, more), Patch("prewarm: null")});
    story.events.push_back({MomentOf(story, more), Patch(Prewarm(traits, more))});
  }
}

bool HasEnds(const PolicyTraits& traits) {
  return traits.holds || traits.rejects || traits.boots || traits.leaves;
}

// Edits of how the policy ends attempts. In the end it ends none, and jobs that were rejected or
// lost their capacity begin anew.
void EditEnds(Story& story, const PolicyTraits& traits, Random& more, std::uint64_t jobs) {
  if (!HasEnds(traits)) return;
  Duration last = story.length + seconds(30);
  if (more.Below(3) == 0) story.events.push_back({MomentOf(story, more), Patch(kNoEnds)});
  if (more.Below(3) == 0) {
    story.events.push_back({MomentOf(story, more), Patch(Ends(traits, more))});
  }
  if (traits.holds) {  // both pools are out of stock, so that the last step ends
    const Duration at = MomentOf(story, more);
    story.events.push_back({at, "set nodepool pspot stock=0"});
    story.events.push_back({at, "set nodepool pdemand stock=0"});
  }
  if (traits.rejects) {
    // A request without a pool fails after two minutes.
    const Duration at = MomentOf(story, more);
    const Duration back = at + seconds(130 + more.Below(60));
    for (const char* pool : {"pspot", "pdemand"}) {
      const std::string set = std::string("set nodepool ") + pool + " queuedProvisioning=";
      story.events.push_back({at, set + "false"});
      story.events.push_back({back, set + "true"});
    }
    last = std::max(last, back + seconds(10));
  }
  story.events.push_back({last, Patch(kNoEnds)});
  for (std::uint64_t i = 0; i < jobs; ++i) {
    story.events.push_back(
        {last + seconds(10), "set workload of policy" + std::to_string(i) + " active=true"});
  }
}

}  // namespace

PolicyTraits DrawTraits(Random& random) {
  PolicyTraits traits;
  traits.races = random.Below(2) == 0;
  traits.reuses = random.Below(2) == 0;
  traits.budgets = random.Below(3) == 0;
  return traits;
}

void DrawMoreTraits(Random& random, PolicyTraits& traits) {
  // A policy either races or splits.
  const std::uint64_t split = random.Below(3);
  traits.splits = split == 1 && !traits.races;
  traits.divides = split == 2 && !traits.races;
  traits.prewarms = random.Below(2) == 0 && traits.reuses;
  traits.gangs = random.Below(3) == 0;
}

void DrawEndTraits(Random& random, PolicyTraits& traits) {
  traits.holds = random.Below(3) == 0;
  traits.rejects = random.Below(3) == 0;
  traits.boots = random.Below(2) == 0;
  traits.leaves = random.Below(2) == 0 && !traits.budgets;
}

void DrawWaitTraits(Random& random, PolicyTraits& traits) {
  traits.keeps = random.Below(2) == 0 && traits.races && traits.reuses;
  traits.weighs = random.Below(3) == 0;
  traits.naps = random.Below(2) == 0 && traits.prewarms;
}

void DrawEvictTraits(Random& random, PolicyTraits& traits) {
  traits.gangs = true;
  traits.reacts = random.Below(3) != 0;
  traits.pays = random.Below(3) == 0 && traits.reacts;
  if (random.Below(4) != 0) traits.evict_after = 35 + random.Below(60);
}

void AddPolicy(Story& story, Random& random, const PolicyTraits& traits, Random& more) {
  const std::string quota = Number(random, 2, 6);
  std::string queue = "cluster-queue cqpolicy checks=chain";
  for (const char* flavor : {"spot", "demand"}) {
    const std::string name = flavor;
    std::string pool = PoolLine("p" + name, random);
    if (traits.races && name == "spot") pool += " zone=us-central1-a zone=us-central1-b";
    // Some machines boot longer than the policy lets them.
    if (traits.boots && name == "spot") {
      pool.replace(pool.find("boot="), pool.find(" idle=") - pool.find("boot="),
                   "boot=" + Number(more, 50, 90));
    }
    story.setup.push_back(std::move(pool));
    story.setup.push_back("flavor " + name + " label=cloud.google.com/gke-nodepool=p" + name);
    queue += " " + name + "/cpu=40 " + name + "/nvidia.com/gpu=" + quota;
  }
  story.setup.emplace_back(
      "capacity-check chain managed=nvidia.com/gpu retries=2 backoff=5 max-backoff=40");
  story.setup.push_back(Policy(random, traits, more));
  story.setup.emplace_back(
      "patch admissioncheck chain <<EOF\n"
      "metadata: {annotations: {berth.dev/provisioning-policy: chain}}\nEOF");
  story.setup.push_back(queue);
  story.setup.emplace_back(kQueueLine);
  if (traits.prewarms) {
    story.setup.emplace_back("cluster-queue cqwarm checks=chain spot/cpu=9 spot/nvidia.com/gpu=1");
    story.setup.emplace_back("local-queue qwarm -> cqwarm");
  }
  const std::uint64_t jobs = 2 + random.Below(5);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    std::string line =
        "job policy" + std::to_string(i) +
        " queue=qpolicy cpu=1 gpu=1 parallelism=" + Number(random, 1, traits.divides ? 4 : 2) +
        " backoff-limit=1000 runs=" + Number(random, 2, 60) + "s";
    const bool has_deadline = random.Below(3) == 0;
    // Without a deadline a job has no known cost, and waits until the budget is gone.
    if (has_deadline || (traits.budgets && more.Below(2) == 0)) line += " deadline=3000";
    if (traits.divides && more.Below(3) != 0) line += " annotate=berth.dev/divisible=true";
    story.events.push_back({MomentOf(story, random), std::move(line)});
  }
  for (std::uint64_t i = random.Below(4); i > 0; --i) EditStock(story, random);
  for (std::uint64_t i = random.Below(3); i > 0; --i) EditPolicy(story, random, traits, more);
  EditTraits(story, traits, more);
  EditEnds(story, traits, more, jobs);
  if (traits.splits) AddSplitSets(story, more);
  if (traits.gangs) AddGangs(story, more, traits);
  // Whatever was edited, spans that overlap included: stock and policy let every job end.
  story.events.push_back({story.length, "set nodepool pdemand stock=9"});
  story.events.push_back({story.length, "set nodepool pspot stock=9"});
  story.events.push_back({story.length, Patch("maxPricePerHour: null")});
  // A policy that is made again comes up to 20 s after the length.
  if (traits.budgets) {
    story.events.push_back({story.length + seconds(30), Patch("budget: null")});
  }
  if (traits.prewarms) {
    story.events.push_back({story.length + seconds(30), Patch("prewarm: null")});
  }
  // One request for pods of two pools is never served.
  if (traits.splits) {
    story.events.push_back({story.length + seconds(30), Patch(SplitRule(traits, more))});
  }
}

bool HasPolicy(const Story& story) {
  return std::find(story.setup.begin(), story.setup.end(), kQueueLine) != story.setup.end();
}

PolicyTraits TraitsOf(const Story& story) {
  PolicyTraits traits;
  for (const std::string& line : story.setup) {
    if (line.find("kind: ProvisioningPolicy") == std::string::npos) continue;
    traits.races = line.find("race: {") != std::string::npos;
    traits.reuses = line.find("reuse: {") != std::string::npos;
    traits.budgets = line.find("budget: {") != std::string::npos;
    traits.splits = line.find("mode: PerPodSet") != std::string::npos;
    traits.divides = line.find("mode: Divide") != std::string::npos;
    traits.prewarms = line.find("prewarm: {") != std::string::npos;
    traits.holds = line.find("whenExhausted: Hold") != std::string::npos;
    traits.rejects = line.find("rejectHumanCauses: true") != std::string::npos;
    traits.boots = line.find("bootTimeoutSeconds: ") != std::string::npos;
    traits.leaves = line.find("evictBeforeSeconds: ") != std::string::npos;
    traits.keeps = line.find("keepSurplusSeconds: ") != std::string::npos;
    traits.naps = line.find("maxIdleSeconds: ") != std::string::npos;
    traits.weighs = line.find("minEtaGainSeconds: ") != std::string::npos;
    break;
  }
  traits.gangs = HasGangs(story);
  for (const std::string& line : story.setup) {
    const std::size_t age = line.find(" evict-after=");
    if (age != std::string::npos) {
      traits.evict_after = std::stoull(line.substr(age + std::string(" evict-after=").size()));
    }
    if (line.find("metadata: {name: gangs}") == std::string::npos) continue;
    traits.reacts = line.find("placeholders: {") == std::string::npos;
    traits.pays = line.find("budget: {") != std::string::npos;
  }
  return traits;
}

}  // namespace berth::sim
