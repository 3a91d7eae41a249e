// tests/admission/topology/placement_case.h — rows of placement tests in words.
//
// A node: "b1/r1/n1 cpu=4 pods=10 gpu=8 taint=KEY label=KEY:VALUE notready cordoned"; its path has
// one part per level. A pod set: "main 5 cpu=1 gpu=2 required=rack preferred=block unconstrained
// slice=rack:2 group=g tolerate=KEY select=KEY:VALUE prefer=KEY:VALUE:WEIGHT" (slice and prefer may
// be repeated). Used already:
// "n1 2 cpu=1" (domain, pods, of one pod). Levels: "block rack host"; host is
// kubernetes.io/hostname.
//
// The answer: "main: n1=2 n2=3; driver: n1=1", or "main fails: TEXT".
#pragma once

#include <string>
#include <vector>

#include "admission/topology/topology_placer.h"

namespace berth::admission {

api::Node NodeFrom(const std::string& levels, const std::string& text);
api::PodSet PodSetFrom(const std::string& text);

class PlacementCase {
 public:
  explicit PlacementCase(const std::string& levels, TopologyPlacer::Profile profile = {});

  TopologyPlacer& placer() { return placer_; }
  Vocabulary& vocabulary() { return vocabulary_; }
  FlavorId flavor() const { return flavor_; }
  const TopologyTree& tree() const { return *placer_.TreeOf(flavor_); }

  void AddNode(const std::string& text);
  void AddUsed(const std::string& text);
  // Writes the flavor with the annotation berth.dev/shares-per-gpu, or without any.
  void SetFlavor(const std::string& shares_per_gpu);
  // Pod sets without a request of their own are placed as implied ones.
  std::string Place(const std::vector<std::string>& pod_sets,
                    CountKey::Usage usage = CountKey::Usage::kAsUsed);
  // `before`: the assignment so far, "main: n1=2 n2=1".
  std::string Replace(const std::vector<std::string>& pod_sets, const std::string& before,
                      const std::string& failed_node);

  std::string Told(const api::Workload& workload, const PlacementResult& result) const;
  std::vector<PlacementRequest> RequestsFor(const api::Workload& workload) const;

 private:
  std::string levels_;
  Vocabulary vocabulary_;
  TopologyPlacer placer_;
  FlavorId flavor_ = 0;
  std::vector<std::vector<PlacedPods>> used_;
};

}  // namespace berth::admission
