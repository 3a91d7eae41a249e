#include "tests/simulation/faults/policy_edits.h"

#include <algorithm>
#include <array>
#include <string>

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

// Limits that make each way through the chain likely within a short story.
std::string Steps(Random& random) {
  std::string spot = "{name: spot, flavor: spot, maxAttempts: " + Number(random, 1, 3);
  if (random.Below(2) == 0) spot += ", maxWaitSeconds: " + Number(random, 10, 60);
  // One node is too few for two pods.
  spot += ", pool: {name: pspot, maxNodes: " + Number(random, 1, 4) +
          ", node: {nvidia.com/gpu: 1}}, pricePerHour: \"0.26\"}";
  std::string demand = "{name: demand, flavor: demand, pricePerHour: \"0.89\"";
  if (random.Below(3) == 0) demand += ", maxAttempts: " + Number(random, 1, 2);
  return "steps: [" + spot + ", " + demand + "}]";
}

std::string Policy(Random& random) {
  std::string spec = Steps(random) + ", cycleAfterSeconds: " + Number(random, 5, 40);
  if (random.Below(2) == 0) spec += ", onRevoked: Requeue";
  if (random.Below(2) == 0) spec += ", runDuration: {minSeconds: 1200}";
  if (random.Below(3) == 0) spec += ", stock: Ignored";
  if (random.Below(3) == 0) spec += ", stuckAfterSeconds: 60";
  if (random.Below(4) == 0) spec += ", answerTimeoutSeconds: 30";
  return "apply <<EOF\napiVersion: provisioning.berth.dev/v1alpha1\nkind: ProvisioningPolicy\n"
         "metadata: {name: chain}\nspec: {" +
         spec + "}\nEOF";
}

void EditStock(Story& story, Random& random) {
  const Duration at = MomentOf(story, random);
  const std::string pool = random.Below(3) == 0 ? "pdemand" : "pspot";
  story.events.push_back({at, "set nodepool " + pool + " stock=" + Number(random, 0, 1)});
  story.events.push_back({at + seconds(5 + random.Below(60)), "set nodepool " + pool + " stock=9"});
}

void EditPolicy(Story& story, Random& random) {
  const Duration at = MomentOf(story, random);
  switch (random.Below(4)) {
    case 0: return story.events.push_back({at, Policy(random)});
    case 1:
      story.events.push_back({at, "delete provisioningpolicy chain"});
      return story.events.push_back({at + seconds(1 + random.Below(20)), Policy(random)});
    case 2:
      story.events.push_back(
          {at, "patch provisioningpolicy chain <<EOF\nspec: {maxPricePerHour: \"0.5\"}\nEOF"});
      return story.events.push_back(
          {at + seconds(5 + random.Below(30)),
           "patch provisioningpolicy chain <<EOF\nspec: {maxPricePerHour: null}\nEOF"});
    default:
      return story.events.push_back(
          {at, "patch provisioningpolicy chain <<EOF\nspec: {stock: Ignored}\nEOF"});
  }
}

}  // namespace

void AddPolicy(Story& story, Random& random) {
  const std::string quota = Number(random, 2, 6);
  std::string queue = "cluster-queue cqpolicy checks=chain";
  for (const char* flavor : {"spot", "demand"}) {
    const std::string name = flavor;
    story.setup.push_back(PoolLine("p" + name, random));
    story.setup.push_back("flavor " + name + " label=cloud.google.com/gke-nodepool=p" + name);
    queue += " " + name + "/cpu=40 " + name + "/nvidia.com/gpu=" + quota;
  }
  story.setup.emplace_back(
      "capacity-check chain managed=nvidia.com/gpu retries=2 backoff=5 max-backoff=40");
  story.setup.push_back(Policy(random));
  story.setup.emplace_back(
      "patch admissioncheck chain <<EOF\n"
      "metadata: {annotations: {berth.dev/provisioning-policy: chain}}\nEOF");
  story.setup.push_back(queue);
  story.setup.emplace_back(kQueueLine);
  const std::uint64_t jobs = 2 + random.Below(5);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    std::string line = "job policy" + std::to_string(i) +
                       " queue=qpolicy cpu=1 gpu=1 parallelism=" + Number(random, 1, 2) +
                       " backoff-limit=1000 runs=" + Number(random, 2, 60) + "s";
    if (random.Below(3) == 0) line += " deadline=3000";
    story.events.push_back({MomentOf(story, random), std::move(line)});
  }
  for (std::uint64_t i = random.Below(4); i > 0; --i) EditStock(story, random);
  for (std::uint64_t i = random.Below(3); i > 0; --i) EditPolicy(story, random);
  // Whatever was edited, spans that overlap included: stock and policy let every job end.
  story.events.push_back({story.length, "set nodepool pdemand stock=9"});
  story.events.push_back({story.length, "set nodepool pspot stock=9"});
  story.events.push_back(
      {story.length, "patch provisioningpolicy chain <<EOF\nspec: {maxPricePerHour: null}\nEOF"});
}

bool HasPolicy(const Story& story) {
  return std::find(story.setup.begin(), story.setup.end(), kQueueLine) != story.setup.end();
}

}  // namespace berth::sim
