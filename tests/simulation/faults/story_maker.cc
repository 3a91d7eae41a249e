// How a seed becomes a story: a cluster, jobs, what people do meanwhile. Faults: fault_maker.cc.
#include <algorithm>
#include <utility>

#include "base/random.h"
#include "tests/simulation/faults/fault_maker.h"
#include "tests/simulation/faults/story.h"

namespace berth::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct MadeQueue {
  std::string name;
  std::string local_queue;
  std::vector<std::string> flavors;
  std::string options;  // of its line, without quotas
  std::string line;
  std::string local_line;
  bool gpu = false;
};

class StoryMaker {
 public:
  explicit StoryMaker(std::uint64_t seed) : random_(seed * 0x2545F4914F6CDD1DU + 1) {
    story_.seed = seed;
  }

  Story Make() {
    has_gpu_ = Chance(35);
    story_.length = seconds(Between(30, 150));
    MakeConfig();
    MakeFlavors();
    MakeChecks();
    MakeQueues();
    MakeJobs();
    const int edits = Chance(20) ? 0 : static_cast<int>(Between(1, 7));
    for (int i = 0; i < edits; ++i) MakeEdit();
    std::stable_sort(story_.events.begin(), story_.events.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    AddFaults(story_, random_);
    return std::move(story_);
  }

 private:
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

  void MakeConfig();
  void MakeFlavors();
  void MakeChecks();
  void MakeQueues();
  std::string Quotas(const MadeQueue& queue);
  void MakeJobs();
  void MakeJob(int number);
  void MakeEdit();
  void EditQueue();
  void EditLocalQueue();
  void EditJob();
  void EditWorkload();
  void EditCluster();
  const MadeQueue& AnyQueue() { return OneOf(queues_); }

  Random random_;
  Story story_;
  bool has_gpu_ = false;
  bool has_gate_ = false;
  std::vector<std::string> flavors_;
  std::vector<std::string> cohorts_;
  std::vector<MadeQueue> queues_;
  int job_count_ = 0;
};

void StoryMaker::MakeConfig() {
  if (Chance(25)) {
    story_.config += Chance(50) ? "fairSharing: {preemptionStrategies: "
                                  "[LessThanOrEqualToFinalShare, LessThanInitialShare]}\n"
                                : "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n";
  }
  if (Chance(15)) {
    story_.config += "waitForPodsReady: {timeout: " + std::to_string(Between(20, 60)) +
                     "s, requeuingStrategy: {backoffBaseSeconds: 5, backoffLimitCount: 5}}\n";
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

void StoryMaker::MakeChecks() {
  if (has_gpu_) {
    story_.setup.push_back("capacity-check prov managed=nvidia.com/gpu retries=" +
                           std::to_string(Between(1, 5)) + " backoff=5 max-backoff=40");
  }
  has_gate_ = Chance(25);
  if (has_gate_) story_.setup.push_back("check gate");
}

std::string StoryMaker::Quotas(const MadeQueue& queue) {
  std::string text;
  for (const std::string& flavor : queue.flavors) {
    const std::int64_t nominal = Between(0, 6);
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

void StoryMaker::MakeQueues() {
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
  const std::int64_t count = Between(1, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    MadeQueue queue;
    queue.name = "cq" + std::to_string(i);
    queue.local_queue = "q" + std::to_string(i);
    queue.gpu = has_gpu_ && (i == 0 || Chance(30));
    queue.flavors = queue.gpu ? std::vector<std::string>{"dws"} : flavors_;
    if (!queue.gpu && queue.flavors.size() > 1 && Chance(40)) queue.flavors.pop_back();
    if (!cohorts_.empty() && Chance(75)) queue.options += " cohort=" + OneOf(cohorts_);
    if (Chance(40)) queue.options += " strategy=StrictFIFO";
    if (Chance(50))
      queue.options += " within=" + Word({"LowerPriority", "LowerOrNewerEqualPriority"});
    if (Chance(50)) {
      queue.options += " reclaim=" + Word({"Any", "LowerPriority"});
      if (Chance(25)) queue.options += " borrow-within=LowerPriority borrow-threshold=100";
    }
    if (Chance(20)) queue.options += " when-can-borrow=" + Word({"MayStopSearch", "TryNextFlavor"});
    if (Chance(20))
      queue.options += " when-can-preempt=" + Word({"MayStopSearch", "TryNextFlavor"});
    if (Chance(20)) queue.options += " weight=" + std::to_string(Between(1, 3));
    std::string checks = queue.gpu ? "prov" : "";
    if (has_gate_ && Chance(60)) checks += std::string(checks.empty() ? "" : ",") + "gate";
    if (!checks.empty()) queue.options += " checks=" + checks;
    queue.line = "cluster-queue " + queue.name + queue.options + Quotas(queue);
    queue.local_line = "local-queue " + queue.local_queue + " -> " + queue.name;
    story_.setup.push_back(queue.line);
    story_.setup.push_back(queue.local_line);
    queues_.push_back(std::move(queue));
  }
}

void StoryMaker::MakeJobs() {
  const std::int64_t count = Between(3, 12);
  for (std::int64_t i = 0; i < count; ++i) MakeJob(job_count_++);
}

void StoryMaker::MakeJob(int number) {
  const MadeQueue& queue = AnyQueue();
  const std::int64_t pods = Chance(60) ? 1 : Between(2, 3);
  std::string line = "job j" + std::to_string(number) + " queue=" + queue.local_queue +
                     " cpu=" + std::to_string(Between(1, 3)) +
                     " runs=" + std::to_string(Between(2, 60)) + "s";
  if (queue.gpu && Chance(85)) line += " gpu=1";
  if (!queue.gpu && Chance(20)) line += " selector=pool=" + OneOf(queue.flavors);
  if (pods > 1) line += " parallelism=" + std::to_string(pods);
  if (Chance(25)) line += " completions=" + std::to_string(pods + Between(0, 2));
  if (pods > 1 && Chance(25)) line += " annotate=kueue.x-k8s.io/job-min-parallelism=1";
  if (Chance(50)) line += " priority=" + Word({"1", "10", "100", "1000"});
  if (Chance(10)) line += " exit=1 backoff-limit=" + std::to_string(Between(0, 2));
  if (Chance(10))
    line += " label=kueue.x-k8s.io/max-exec-time-seconds=" + std::to_string(Between(5, 40));
  if (Chance(10)) line += " deadline=" + std::to_string(Between(20, 90));
  if (Chance(10)) line += " indexed";
  if (Chance(15)) line += " pod-annotation=team=a";
  if (Chance(15)) line += " suspend=false";  // the webhook suspends it
  // Many come at once, as from a pipeline.
  At(Chance(40) ? Duration(seconds(1)) : Moment(), line);
}

void StoryMaker::MakeEdit() {
  switch (random_.Below(10)) {
    case 0:
    case 1: return EditQueue();
    case 2: return EditLocalQueue();
    case 3:
    case 4:
    case 5: return EditJob();
    case 6:
    case 7: return EditWorkload();
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
  const MadeQueue& queue = AnyQueue();
  if (Chance(30)) {
    At(at, "delete localqueue " + queue.local_queue);
    return At(at + seconds(Between(1, 40)), queue.local_line);
  }
  At(at, "set localqueue " + queue.local_queue + " stopPolicy=" + Word({"Hold", "HoldAndDrain"}));
  At(at + seconds(Between(1, 40)), "set localqueue " + queue.local_queue + " stopPolicy=None");
}

void StoryMaker::EditJob() {
  const Duration at = Moment();
  const std::string job =
      "job j" + std::to_string(random_.Below(static_cast<std::uint64_t>(job_count_)));
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
  const std::string job =
      "j" + std::to_string(random_.Below(static_cast<std::uint64_t>(job_count_)));
  if (Chance(30)) return At(at, "delete workload of " + job);
  if (has_gpu_ && Chance(40)) return At(at, "delete provreq of " + job);
  At(at, "set workload of " + job + " active=false");
  At(at + milliseconds(Between(500, 40'000)), "set workload of " + job + " active=true");
}

void StoryMaker::EditCluster() {
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

Story MakeStory(std::uint64_t seed) { return StoryMaker(seed).Make(); }

}  // namespace berth::sim
