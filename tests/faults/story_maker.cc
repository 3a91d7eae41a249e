// Makes the story of a seed: a cluster, jobs, users' edits. Faults: fault_maker.cc.
#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "base/rfc3339.h"
#include "scenarios/world/sim_executor.h"
#include "tests/faults/dask_edits.h"
#include "tests/faults/elastic_edits.h"
#include "tests/faults/fault_maker.h"
#include "tests/faults/jobset_edits.h"
#include "tests/faults/more_edits.h"
#include "tests/faults/pod_edits.h"
#include "tests/faults/policy_edits.h"
#include "tests/faults/shared_edits.h"
#include "tests/faults/story.h"

namespace berth::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRackNodes = 6;  // two to a rack, of kNodeCpu each
constexpr int kNodeCpu = 4;

struct MadeQueue {
  std::string name;
  std::string local_queue;
  std::vector<std::string> flavors;
  std::string options;  // the options of its line, without quotas
  std::string line;
  bool gpu = false;
  bool racks = false;
};

struct MadeLocalQueue {
  std::string path;  // "ns/name"; in namespace default the name
  std::string name;
  std::string space;  // "ns/", or nothing
  std::string line;
  std::size_t queue = 0;
};

class StoryMaker {
 public:
  StoryMaker(std::uint64_t seed, Drawing drawing) : random_(seed * 0x2545F4914F6CDD1DU + 1) {
    story_.seed = seed;
    story_.drawing = drawing;
  }

  Story Make() {
    has_gpu_ = Chance(35);
    has_racks_ = Chance(20);
    has_team_ = Chance(30);
    if (Chance(15)) story_.replicas = 2;
    story_.length = seconds(Between(30, 150));
    MakeConfig();
    if (has_team_) story_.setup.emplace_back("namespace team label=dept=b");
    MakeFlavors();
    if (has_racks_) MakeRacks();
    MakeChecks();
    MakeQueues();
    MakeLocalQueues();
    MakeJobs();
    const int edits = Chance(20) ? 0 : static_cast<int>(Between(1, 7));
    for (int i = 0; i < edits; ++i) MakeEdit();
    // A separate generator, so that the rest of a seed's story does not change.
    Random other(story_.seed * 0x9E3779B97F4A7C15U + 7);
    if (other.Below(4) == 0) EditDefaults(story_, other);
    Random third(story_.seed * 0xD1B54A32D192ED03U + 11);
    if (third.Below(4) == 0) EditTemplates(story_, third);
    if (third.Below(5) == 0) AddPrebuilt(story_, third);
    if (third.Below(8) == 0) AddZones(story_, third);
    Random fourth(story_.seed * 0xA24BAED4963EE407U + 13);
    if (fourth.Below(3) == 0) AddPods(story_, fourth);
    Random fifth(story_.seed * 0x9FB21C651E98DF25U + 17);
    if (fifth.Below(5) == 0) AddJobSets(story_, fifth);
    Random sixth(story_.seed * 0xC2B2AE3D27D4EB4FU + 19);
    if (sixth.Below(6) == 0) AddDask(story_, sixth);
    Random seventh(story_.seed * 0x165667B19E3779F9U + 23);
    if (seventh.Below(5) == 0) AddElastic(story_, seventh);
    Random eighth(story_.seed * 0xD6E8FEB86659FD93U + 197);
    const bool drawn = eighth.Below(5) == 0;
    const bool has_policy = drawn || (is_recorded() && MayDrawEvictTraits(story_));
    if (has_policy && !(is_recorded() && IsIn(3'000'000, 11'000'000))) MakePolicy(eighth);
    Random ninth(story_.seed * 0xD6E8FEB86659FD93U + 401);
    if (!is_recorded() && ninth.Below(4) == 0) AddVictimRules(ninth);
    Random tenth(story_.seed * 0xB5297A4D94D049BBU + 607);
    if (!is_recorded() && tenth.Below(4) == 0) AddOrders(tenth);
    Random eleventh(story_.seed * 0xA24BAED4963EE407U + 811);
    if (!is_recorded() && eleventh.Below(4) == 0) AddTimeSlices(eleventh);
    std::stable_sort(story_.events.begin(), story_.events.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    AddFaults(story_, random_);
    if (other.Below(5) == 0) AddBlindness(story_, other);
    return std::move(story_);
  }

 private:
  bool is_recorded() const { return story_.drawing == Drawing::kAsRecorded; }
  bool IsIn(std::uint64_t first, std::uint64_t end) const {
    return story_.seed >= first && story_.seed < end;
  }
  bool Chance(std::uint64_t percent) { return random_.Below(100) < percent; }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  template <typename T>
  const T& OneOf(const std::vector<T>& all) {
    return all[random_.Below(all.size())];
  }
  std::string Word(std::initializer_list<const char*> all) {
    return *(all.begin() + random_.Below(all.size()));
  }
  Duration Moment() {
    return milliseconds(
        Between(0, std::chrono::duration_cast<milliseconds>(story_.length).count()));
  }
  void At(Duration at, std::string line) { story_.events.push_back({at, std::move(line)}); }

  void MakePolicy(Random& random);
  void AddVictimRules(Random& random);
  void AddOrders(Random& random);
  void AddTimeSlices(Random& random);
  void MakeConfig();
  void MakeFlavors();
  void MakeRacks();
  void MakeChecks();
  void MakeCohorts();
  void MakeQueues();
  MadeQueue MakeQueue(std::int64_t number);
  void MakeLocalQueues();
  std::string Quotas(const MadeQueue& queue);
  void MakeJobs();
  void MakeJob(int number);
  std::string Pods(const MadeQueue& queue);
  std::string PodsInRacks();
  void MakeEdit();
  void EditQueue();
  void EditLocalQueue();
  void EditJob();
  void EditWorkload();
  void EditCluster();
  void EditRacks();
  void EditTeam();
  const MadeQueue& AnyQueue() { return OneOf(queues_); }
  const std::string& AnyJob() { return OneOf(jobs_); }

  Random random_;
  Story story_;
  bool has_gpu_ = false;
  bool has_racks_ = false;
  bool has_team_ = false;
  bool has_usage_order_ = false;
  std::vector<std::string> gates_;
  std::vector<std::string> flavors_;
  std::vector<std::string> cohorts_;
  std::vector<MadeQueue> queues_;
  std::vector<MadeLocalQueue> local_queues_;
  std::vector<std::string> jobs_;  // "ns/name"
};

void StoryMaker::MakePolicy(Random& random) {
  Random more(story_.seed * 0xB5297A4D94D049BBU + 29);
  const bool has_steps_alone = is_recorded() && IsIn(3'000'000, 20'000'000);
  PolicyTraits traits = has_steps_alone ? PolicyTraits{} : DrawTraits(more);
  if (MayDrawMoreTraits(story_)) DrawMoreTraits(more, traits);
  if (MayDrawEndTraits(story_)) DrawEndTraits(more, traits);
  Random waits(story_.seed * 0x9E3779B97F4A7C15U + 31);
  if (MayDrawWaitTraits(story_)) DrawWaitTraits(waits, traits);
  Random evicts(story_.seed * 0xC2B2AE3D27D4EB4FU + 37);
  if (MayDrawEvictTraits(story_) && (is_recorded() || evicts.Below(3) == 0)) {
    DrawEvictTraits(evicts, traits);
  }
  AddPolicy(story_, random, traits, more);
}

// Somebody gives ClusterQueues rules on victims (api/queue_policy.h) while the story goes on.
void StoryMaker::AddVictimRules(Random& random) {
  for (const MadeQueue& queue : queues_) {
    if (random.Below(2) == 0) continue;
    std::string rules = "berth.dev/victims: ";
    rules += random.Below(2) == 0 ? "LeastWorkLost" : "Newest";
    for (const char* rule : {"preemption-patience", "preempt-min-run", "reclaim-min-run"}) {
      if (random.Below(2) == 0) continue;
      rules += std::string(", berth.dev/") + rule + ": " + std::to_string(random.Below(45)) + "s";
    }
    const auto length = std::chrono::duration_cast<milliseconds>(story_.length).count();
    const milliseconds at(random.Below(static_cast<std::uint64_t>(length)));
    At(at, "patch clusterqueue " + queue.name + " <<EOF\nmetadata: {annotations: {" + rules +
               "}}\nEOF");
  }
}

// Some jobs save their state, and somebody gives ClusterQueues time slices while the story goes on.
void StoryMaker::AddTimeSlices(Random& random) {
  for (StoryEvent& event : story_.events) {
    if (event.line.rfind("job ", 0) != 0 || random.Below(2) == 0) continue;
    event.line += " annotate=berth.dev/checkpoint-every=5s";
  }
  const auto length = std::chrono::duration_cast<milliseconds>(story_.length).count();
  for (const MadeQueue& queue : queues_) {
    const std::string slice = std::to_string(10 + random.Below(90)) + "s";
    At(milliseconds(random.Below(static_cast<std::uint64_t>(length))),
       "patch clusterqueue " + queue.name +
           " <<EOF\nmetadata: {annotations: {berth.dev/time-slice: " + slice + "}}\nEOF");
  }
}

// Jobs have deadlines, and somebody gives ClusterQueues an order while the story goes on.
void StoryMaker::AddOrders(Random& random) {
  for (StoryEvent& event : story_.events) {
    if (event.line.rfind("job ", 0) != 0 || random.Below(2) == 0) continue;
    const Duration deadline = std::chrono::seconds(random.Below(1200));
    event.line += " annotate=berth.dev/deadline=" + FormatTime(FakeClock::kStart + deadline);
  }
  const auto length = std::chrono::duration_cast<milliseconds>(story_.length).count();
  for (const MadeQueue& queue : queues_) {
    if (random.Below(3) == 0) continue;
    std::string rules;
    if (random.Below(3) != 0) {
      const std::array<const char*, 3> orders{"Fifo", "ShortestFirst", "FairByUser"};
      rules = std::string("berth.dev/order: ") + orders.at(random.Below(orders.size())) + ", ";
    }
    rules += "berth.dev/deadlines: " + std::to_string(random.Below(300)) + "s";
    At(milliseconds(random.Below(static_cast<std::uint64_t>(length))),
       "patch clusterqueue " + queue.name + " <<EOF\nmetadata: {annotations: {" + rules +
           "}}\nEOF");
  }
}

void StoryMaker::MakeConfig() {
  if (Chance(25)) {
    story_.config += Chance(50) ? "fairSharing: {preemptionStrategies: "
                                  "[LessThanOrEqualToFinalShare, LessThanInitialShare]}\n"
                                : "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n";
  }
  if (Chance(20)) {
    story_.config += "waitForPodsReady: {timeout: " + std::to_string(Between(20, 60)) + "s";
    if (Chance(40)) story_.config += ", blockAdmission: true";
    if (Chance(50)) {
      story_.config += ", recoveryTimeout: " + std::to_string(Between(10, 40)) + "s";
    }
    story_.config += ", requeuingStrategy: {backoffBaseSeconds: 5, backoffLimitCount: 5";
    if (Chance(40)) story_.config += ", timestamp: Creation";
    story_.config += "}}\n";
  }
  has_usage_order_ = Chance(15);
  if (has_usage_order_) {
    story_.config +=
        "admissionFairSharing: {usageHalfLifeTime: " + std::to_string(Between(30, 300)) +
        "s, usageSamplingInterval: " + std::to_string(Between(5, 60)) + "s}\n";
  }
}

void StoryMaker::MakeFlavors() {
  const std::int64_t count = Between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = "f" + std::to_string(i);
    flavors_.push_back(name);
    story_.setup.push_back("node n-" + name + " cpu=500 memory=900Gi label=pool=" + name);
    story_.setup.push_back("flavor " + name + " label=pool=" + name);
  }
  if (!has_gpu_) return;
  const std::int64_t pools = Between(1, 2);
  for (std::int64_t i = 0; i < pools; ++i) {
    story_.setup.push_back(
        "pool p" + std::to_string(i) + " machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=" +
        std::to_string(Between(2, 6)) + " boot=" + std::to_string(Between(5, 40)) +
        " idle=" + std::to_string(Between(20, 120)) + " grant=" + std::to_string(Between(1, 30)));
  }
  story_.setup.push_back("flavor dws");
}

void StoryMaker::MakeRacks() {
  story_.setup.emplace_back("topology dc rack kubernetes.io/hostname");
  for (int i = 0; i < kRackNodes; ++i) {
    story_.setup.push_back("node r" + std::to_string(i) + " cpu=" + std::to_string(kNodeCpu) +
                           " label=rack=rack" + std::to_string(i / 2) + " label=tier=racks");
  }
  story_.setup.emplace_back("flavor racks label=tier=racks topology=dc");
  if (Chance(30)) {
    story_.setup.push_back("pod daemon node=r0 cpu=1 runs=" + std::to_string(Between(10, 60)) +
                           "s");
  }
}

void StoryMaker::MakeChecks() {
  if (has_gpu_) {
    story_.setup.push_back("capacity-check prov managed=nvidia.com/gpu retries=" +
                           std::to_string(Between(1, 5)) + " backoff=5 max-backoff=40");
  }
  if (Chance(30)) gates_.emplace_back("gate");
  if (!gates_.empty() && Chance(40)) gates_.emplace_back("gate2");
  for (const std::string& gate : gates_) story_.setup.push_back("check " + gate);
}

std::string StoryMaker::Quotas(const MadeQueue& queue) {
  std::string text;
  for (const std::string& flavor : queue.flavors) {
    const std::int64_t nominal = queue.racks ? Between(8, 24) : Between(0, 6);
    std::string quota = std::to_string(nominal);
    if (queue.options.find("cohort=") != std::string::npos) {
      if (Chance(30)) quota += "+" + std::to_string(Between(0, 4));
      if (Chance(30)) quota += "-" + std::to_string(Between(0, nominal));
    }
    text += " " + flavor + "/cpu=" + quota;
    if (queue.gpu) text += " " + flavor + "/nvidia.com/gpu=" + std::to_string(Between(1, 6));
  }
  return text;
}

void StoryMaker::MakeCohorts() {
  const std::int64_t cohorts = Chance(30) ? 0 : Between(1, 3);
  for (std::int64_t i = 0; i < cohorts; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (Chance(60)) {
      std::string line = "cohort " + name;
      if (i > 0 && Chance(60)) line += " parent=" + cohorts_.back();
      if (Chance(50)) line += " " + OneOf(flavors_) + "/cpu=" + std::to_string(Between(1, 5));
      story_.setup.push_back(line);
    }
    cohorts_.push_back(name);
  }
}

void StoryMaker::MakeQueues() {
  MakeCohorts();
  const std::int64_t count = Between(1, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    queues_.push_back(MakeQueue(i));
    story_.setup.push_back(queues_.back().line);
    if (has_usage_order_ && Chance(60)) {
      story_.setup.push_back("set clusterqueue " + queues_.back().name +
                             " spec.admissionScope.admissionMode=UsageBasedAdmissionFairSharing");
    }
  }
}

MadeQueue StoryMaker::MakeQueue(std::int64_t number) {
  MadeQueue queue;
  queue.name = "cq" + std::to_string(number);
  queue.local_queue = "q" + std::to_string(number);
  queue.racks = has_racks_ && (number == 0 || Chance(40));
  queue.gpu = !queue.racks && has_gpu_ && (number <= 1 || Chance(30));
  queue.flavors = flavors_;
  if (queue.gpu) queue.flavors = {"dws"};
  if (queue.racks) queue.flavors = {"racks"};
  if (queue.flavors.size() > 1 && Chance(40)) queue.flavors.pop_back();
  if (!cohorts_.empty() && Chance(75)) queue.options += " cohort=" + OneOf(cohorts_);
  if (Chance(40)) queue.options += " strategy=StrictFIFO";
  if (Chance(50))
    queue.options += " within=" + Word({"LowerPriority", "LowerOrNewerEqualPriority"});
  if (Chance(50)) {
    queue.options += " reclaim=" + Word({"Any", "LowerPriority"});
    if (Chance(25)) queue.options += " borrow-within=LowerPriority borrow-threshold=100";
  }
  if (Chance(20)) queue.options += " when-can-borrow=" + Word({"MayStopSearch", "TryNextFlavor"});
  if (Chance(20)) queue.options += " when-can-preempt=" + Word({"MayStopSearch", "TryNextFlavor"});
  if (Chance(20)) queue.options += " weight=" + std::to_string(Between(1, 3));
  if (has_team_ && Chance(15)) queue.options += " namespaces=dept=b";
  std::string checks = queue.gpu ? "prov" : "";
  for (const std::string& gate : gates_) {
    if (!Chance(60)) continue;
    checks += (checks.empty() ? "" : ",") + gate;
    if (queue.flavors.size() > 1 && Chance(50)) checks += "@" + OneOf(queue.flavors);
  }
  if (!checks.empty()) queue.options += " checks=" + checks;
  queue.line = "cluster-queue " + queue.name + queue.options + Quotas(queue);
  return queue;
}

// In the other namespace a name may belong to another ClusterQueue.
void StoryMaker::MakeLocalQueues() {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    for (const char* space : {"", "team/"}) {
      if (*space != '\0' && (!has_team_ || Chance(40))) continue;
      MadeLocalQueue made;
      made.space = space;
      made.name = queues_[i].local_queue;
      made.path = space + made.name;
      made.queue = *space != '\0' && Chance(30) ? random_.Below(queues_.size()) : i;
      made.line = "local-queue " + made.path + " -> " + queues_[made.queue].name;
      story_.setup.push_back(made.line);
      local_queues_.push_back(std::move(made));
    }
  }
}

void StoryMaker::MakeJobs() {
  const std::int64_t count = Between(3, 12);
  for (int i = 0; i < count; ++i) MakeJob(i);
}

// The number of pods that fit one empty rack.
std::string StoryMaker::PodsInRacks() {
  const std::string wish =
      Word({"required-topology=rack", "required-topology=kubernetes.io/hostname",
            "preferred-topology=rack", "unconstrained-topology=true", ""});
  const bool one_host = wish.find("hostname") != std::string::npos;
  std::string text = " cpu=" + std::to_string(Between(1, 2)) +
                     " parallelism=" + std::to_string(Between(1, one_host ? 2 : 4)) +
                     " backoff-limit=1000";
  if (!wish.empty()) text += " pod-annotation=kueue.x-k8s.io/podset-" + wish;
  if (Chance(40)) text += " indexed";
  return text;
}

std::string StoryMaker::Pods(const MadeQueue& queue) {
  if (queue.racks) return PodsInRacks();
  const std::int64_t pods = Chance(60) ? 1 : Between(2, 3);
  std::string text = " cpu=" + std::to_string(Between(1, 3));
  if (queue.gpu && Chance(85)) text += " gpu=1";
  if (!queue.gpu && Chance(20)) text += " selector=pool=" + OneOf(queue.flavors);
  if (pods > 1) text += " parallelism=" + std::to_string(pods);
  if (Chance(25)) text += " completions=" + std::to_string(pods + Between(0, 2));
  if (pods > 1 && Chance(25)) text += " annotate=kueue.x-k8s.io/job-min-parallelism=1";
  if (Chance(10)) text += " exit=1 backoff-limit=" + std::to_string(Between(0, 2));
  if (Chance(10)) text += " indexed";
  if (Chance(15)) text += " pod-annotation=team=a";
  return text;
}

void StoryMaker::MakeJob(int number) {
  const MadeLocalQueue& local = OneOf(local_queues_);
  const std::string name = local.space + "j" + std::to_string(number);
  jobs_.push_back(name);
  std::string line = "job " + name + " queue=" + local.name + Pods(queues_[local.queue]) +
                     " runs=" + std::to_string(Between(2, 60)) + "s";
  if (Chance(50)) line += " priority=" + Word({"1", "10", "100", "1000"});
  if (Chance(10))
    line += " label=kueue.x-k8s.io/max-exec-time-seconds=" + std::to_string(Between(5, 40));
  if (Chance(10)) line += " deadline=" + std::to_string(Between(20, 90));
  if (Chance(20)) line += " stops=" + std::to_string(Between(1, 40)) + "s";
  if (Chance(15)) line += " suspend=false";  // the webhook suspends it
  // Many jobs come at once, as from a pipeline.
  At(Chance(40) ? Duration(seconds(1)) : Moment(), line);
}

void StoryMaker::MakeEdit() {
  switch (random_.Below(12)) {
    case 0:
    case 1: return EditQueue();
    case 2: return EditLocalQueue();
    case 3:
    case 4:
    case 5: return EditJob();
    case 6:
    case 7: return EditWorkload();
    case 8:
    case 9: return EditShared(story_, random_);
    default: return EditCluster();
  }
}

void StoryMaker::EditQueue() {
  const Duration at = Moment();
  const MadeQueue& queue = AnyQueue();
  switch (random_.Below(5)) {
    case 0:
    case 1: return At(at, "cluster-queue " + queue.name + queue.options + Quotas(queue));
    case 2:
      At(at, "set clusterqueue " + queue.name + " stopPolicy=Hold");
      return At(at + seconds(Between(1, 40)),
                "set clusterqueue " + queue.name + " stopPolicy=None");
    case 3:
      At(at, "set clusterqueue " + queue.name + " stopPolicy=HoldAndDrain");
      return At(at + seconds(Between(1, 40)),
                "set clusterqueue " + queue.name + " stopPolicy=None");
    default:
      At(at, "delete clusterqueue " + queue.name);
      return At(at + seconds(Between(5, 60)), queue.line);
  }
}

void StoryMaker::EditLocalQueue() {
  const Duration at = Moment();
  const MadeLocalQueue& queue = OneOf(local_queues_);
  if (Chance(30)) {
    At(at, "delete localqueue " + queue.path);
    return At(at + seconds(Between(1, 40)), queue.line);
  }
  At(at, "set localqueue " + queue.path + " stopPolicy=" + Word({"Hold", "HoldAndDrain"}));
  At(at + seconds(Between(1, 40)), "set localqueue " + queue.path + " stopPolicy=None");
}

void StoryMaker::EditJob() {
  const Duration at = Moment();
  const std::string job = "job " + AnyJob();
  switch (random_.Below(6)) {
    case 0: return At(at, "delete " + job);
    case 1: return At(at, "set " + job + " suspend=true");
    case 2: return At(at, "set " + job + " suspend=false");
    case 3:
      return At(at, "patch " + job + " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/queue-name: " +
                        AnyQueue().local_queue + "}}\nEOF");
    case 4: return At(at, "set " + job + " parallelism=" + std::to_string(Between(1, 3)));
    default:
      story_.setup.emplace_back("priority-class urgent 500");
      return At(at, "patch " + job +
                        " <<EOF\nmetadata: {labels: {kueue.x-k8s.io/priority-class: urgent}}\nEOF");
  }
}

void StoryMaker::EditWorkload() {
  const Duration at = Moment();
  const std::string& job = AnyJob();
  if (Chance(30)) return At(at, "delete workload of " + job);
  if (has_gpu_ && Chance(40)) return At(at, "delete provreq of " + job);
  At(at, "set workload of " + job + " active=false");
  At(at + milliseconds(Between(500, 40'000)), "set workload of " + job + " active=true");
}

void StoryMaker::EditRacks() {
  const Duration at = Moment();
  const Duration back = at + seconds(Between(2, 40));
  const std::int64_t number = Between(0, kRackNodes - 1);
  const std::string node = "r" + std::to_string(number);
  switch (random_.Below(4)) {
    case 0:
      At(at, "set node " + node + " unschedulable=true");
      return At(back, "set node " + node + " unschedulable=false");
    case 1: return At(at, "kill pods of " + AnyJob() + (Chance(50) ? " node=" + node : ""));
    default:
      At(at, "delete node " + node);
      if (Chance(60)) At(at, "kill pods of " + AnyJob() + " node=" + node);
      return At(back, "node " + node + " cpu=" + std::to_string(kNodeCpu) + " label=rack=rack" +
                          std::to_string(number / 2) + " label=tier=racks");
  }
}

void StoryMaker::EditTeam() {
  const Duration at = Moment();
  if (Chance(20)) return At(at, "delete namespace team");
  At(at, "set namespace team metadata.labels.dept=c");
  At(at + seconds(Between(2, 40)), "set namespace team metadata.labels.dept=b");
}

void StoryMaker::EditCluster() {
  if (has_racks_ && Chance(60)) return EditRacks();
  if (has_team_ && Chance(40)) return EditTeam();
  const Duration at = Moment();
  const Duration back = at + seconds(Between(2, 40));
  if (has_gpu_ && Chance(60)) {
    if (Chance(30)) {
      return At(at,
                "patch provisioningrequestconfig prov-config <<EOF\nspec: {parameters: "
                "{ValidUntilSeconds: \"" +
                    std::to_string(Between(1000, 9000)) + "\"}}\nEOF");
    }
    At(at, "set nodepool p0 stock=" + std::to_string(Between(0, 2)));
    return At(back, "set nodepool p0 stock=100");
  }
  const std::string flavor = OneOf(flavors_);
  At(at, "delete node n-" + flavor);
  At(back, "node n-" + flavor + " cpu=500 memory=900Gi label=pool=" + flavor);
}

}  // namespace

Story MakeStory(std::uint64_t seed, Drawing drawing) { return StoryMaker(seed, drawing).Make(); }

}  // namespace berth::sim
