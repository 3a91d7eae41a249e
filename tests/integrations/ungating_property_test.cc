// Goal: in every story no domain has more pods of a placed job than it was assigned, and
// in the end every pod has a domain. Method: random jobs; pods are created, ungated,
// fail, are deleted and created again; domains are replaced. 300 seeds, each replays
// exactly.
#include <map>

#include <gtest/gtest.h>

#include "base/random.h"
#include "integrations/ungating.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

constexpr char kRackLevel[] = "rack";

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    const int domains = 1 + Below(4);
    indexed_ = Below(2) == 0;
    api::TopologyAssignment assignment{{kRackLevel}, {}};
    for (int i = 0; i < domains; ++i) {
      const int count = 1 + Below(4);
      assignment.domains.push_back({{"r" + std::to_string(next_domain_++)}, count});
      size_ += count;
    }
    workload_ = testing::WorkloadFor(testing::GpuJob(size_, size_));
    testing::Admit(workload_);
    Assigned() = assignment;
  }

  void Step() {
    switch (Below(5)) {
      case 0: return MakeMissing();
      case 1: return LetGo(1 + Below(3));
      case 2: return With([](api::Pod& pod) { pod.phase = "Failed"; });
      case 3: return With([](api::Pod& pod) { pod.meta.deletion_timestamp = testing::At(1); });
      default: return ReplaceDomain();
    }
  }

  // No more faults: terminating pods end, missing pods are created.
  void Calm() {
    for (auto& [name, pod] : pods_) {
      if (!pod->meta.deletion_timestamp) continue;
      auto ended = std::make_shared<api::Pod>(*pod);
      ended->phase = "Failed";
      pod = ended;
    }
    MakeMissing();
    LetGo(size_);
  }

  void ExpectNoDomainIsTooFull() {
    std::map<std::string, int> used;
    for (const auto& [name, pod] : pods_) {
      if (pod->phase != "Failed" && !IsTopologyGated(*pod))
        ++used[pod->spec.node_selector.at(kRackLevel)];
    }
    for (const auto& domain : Assigned().domains) {
      EXPECT_LE(used[domain.values[0]], domain.count) << domain.values[0];
    }
  }
  int Gated() const {
    int gated = 0;
    for (const auto& [name, pod] : pods_) {
      gated += pod->phase != "Failed" && IsTopologyGated(*pod) ? 1 : 0;
    }
    return gated;
  }

 private:
  api::TopologyAssignment& Assigned() {
    auto& assigned = workload_.status.admission->pod_set_assignments[0].topology_assignment;
    return assigned ? *assigned : assigned.emplace();
  }
  int Below(int limit) {
    return static_cast<int>(random_.Next() % static_cast<std::uint64_t>(limit));
  }
  static bool IsWanted(const api::Pod& pod) {
    return pod.phase != "Failed" && !pod.meta.deletion_timestamp;
  }

  // Does what the Job controller does: one pod for each index that has none.
  void MakeMissing() {
    std::map<int, bool> have;
    for (const auto& [name, pod] : pods_) {
      if (IsWanted(*pod)) have[index_.at(name)] = true;
    }
    for (int index = 0; index < size_; ++index) {
      if (have[index]) continue;
      auto pod = std::make_shared<api::Pod>();
      pod->meta.name = "p" + std::to_string(next_pod_++);
      pod->meta.labels[api::kPodSetLabel] = "main";
      if (indexed_) pod->meta.labels[api::kCompletionIndexLabel] = std::to_string(index);
      pod->phase = "Pending";
      pod->spec.scheduling_gates = {api::kTopologyGate};
      index_[pod->meta.name] = index;
      pods_[pod->meta.name] = pod;
    }
  }
  // Performs the first `writes` writes of a plan only.
  void LetGo(int writes) {
    std::vector<PodPtr> pods;
    for (const auto& [name, pod] : pods_) pods.push_back(pod);
    for (const Ungating& one : PlanUngating(workload_, pods)) {
      if (writes-- == 0) return;
      auto free = std::make_shared<api::Pod>(*one.pod);
      free->spec.scheduling_gates.clear();
      free->spec.node_selector = one.node_labels;
      pods_[free->meta.name] = free;
    }
  }
  template <typename Fn>
  void With(Fn change) {
    if (pods_.empty()) return;
    auto at = std::next(pods_.begin(), Below(static_cast<int>(pods_.size())));
    auto changed = std::make_shared<api::Pod>(*at->second);
    change(*changed);
    at->second = changed;
  }
  // A node fails: its pods end, another domain replaces it in the assignment.
  void ReplaceDomain() {
    auto& domains = Assigned().domains;
    auto& domain = domains[static_cast<std::size_t>(Below(static_cast<int>(domains.size())))];
    for (auto& [name, pod] : pods_) {
      const std::string* rack = api::FindValue(pod->spec.node_selector, kRackLevel);
      if (rack == nullptr || *rack != domain.values[0]) continue;
      auto ended = std::make_shared<api::Pod>(*pod);
      ended->phase = "Failed";
      pod = ended;
    }
    domain.values[0] = "r" + std::to_string(next_domain_++);
    std::sort(domains.begin(), domains.end());
  }

  Random random_;
  bool indexed_ = false;
  int size_ = 0;
  int next_pod_ = 0;
  int next_domain_ = 0;
  api::Workload workload_;
  std::map<std::string, PodPtr> pods_;
  std::map<std::string, int> index_;
};

TEST(UngatingPropertyTest, NoDomainExceedsItsCountAndEveryPodIsUngated) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    for (int step = 0; step < 60; ++step) {
      world.Step();
      world.ExpectNoDomainIsTooFull();
    }
    world.Calm();
    world.ExpectNoDomainIsTooFull();
    EXPECT_EQ(world.Gated(), 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth::integrations
