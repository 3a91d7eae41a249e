#include "admission/controller/feeds/topology_feed.h"

#include <utility>

namespace berth::admission {
namespace {

// Whether the nodes are equal to the scheduler; they are after a kubelet's heartbeat.
bool OffersTheSame(const api::Node& a, const api::Node& b) {
  return a.meta.labels == b.meta.labels && a.unschedulable == b.unschedulable &&
         a.taints == b.taints && a.allocatable == b.allocatable &&
         CountsForPlacement(a) == CountsForPlacement(b);
}

}  // namespace

TopologyFeed::TopologyFeed(kube::Manager& manager, Scheduler& scheduler,
                           std::function<void(Change)> changed)
    : manager_(manager),
      scheduler_(scheduler),
      changed_(std::move(changed)),
      topologies_(manager.InformerFor<api::Topology>()) {}

void TopologyFeed::Connect(Mode mode) {
  mode_ = mode;
  const auto set = [this](const auto& topology) {
    if (mode_ == Mode::kWithNodes) Open();
    if (!IsOpen()) return;
    scheduler_.Apply(*topology);
    changed_(Change::kTopologies);
  };
  topologies_.AddHandler({.on_add = set,
                          .on_update = [set](const auto&, const auto& object) { set(object); },
                          .on_delete =
                              [this](const auto& topology) {
                                scheduler_.Forget<api::Topology>(topology->meta.name);
                                changed_(Change::kTopologies);
                              }});
}

bool TopologyFeed::IsOpen() const {
  if (mode_ == Mode::kAsIs) return true;
  return nodes_ != nullptr && nodes_->has_synced() && pods_->has_synced();
}

void TopologyFeed::Open() {
  if (nodes_ != nullptr) return;
  nodes_ = &manager_.InformerFor<api::Node>();
  pods_ = &manager_.InformerFor<api::Pod>();
  WatchNodes();
  WatchPods();
  nodes_->OnSynced([this] { OnSynced(); });
  pods_->OnSynced([this] { OnSynced(); });
}

void TopologyFeed::OnSynced() {
  if (!IsOpen()) return;
  for (const auto& topology : topologies_.objects()) scheduler_.Apply(*topology);
  changed_(Change::kTopologies);
}

void TopologyFeed::WatchNodes() {
  const auto apply = [this](const auto& node) {
    scheduler_.Apply(*node);
    changed_(Change::kNodes);
  };
  nodes_->AddHandler({.on_add = apply,
                      .on_update =
                          [apply](const auto& before, const auto& node) {
                            if (!OffersTheSame(*before, *node)) apply(node);
                          },
                      .on_delete =
                          [this](const auto& node) {
                            scheduler_.Forget<api::Node>(node->meta.name);
                            changed_(Change::kNodes);
                          }});
}

void TopologyFeed::WatchPods() {
  const auto apply = [this](const auto& pod) {
    scheduler_.Apply(*pod);
    changed_(Change::kNodes);
  };
  pods_->AddHandler({.on_add =
                         [apply](const auto& pod) {
                           if (UsesNodeUnplanned(*pod)) apply(pod);
                         },
                     .on_update =
                         [apply](const auto& before, const auto& pod) {
                           const bool did = UsesNodeUnplanned(*before);
                           const bool does = UsesNodeUnplanned(*pod);
                           if (did != does || (does && before->spec != pod->spec)) apply(pod);
                         },
                     .on_delete =
                         [this](const auto& pod) {
                           if (!UsesNodeUnplanned(*pod)) return;
                           scheduler_.Forget<api::Pod>(pod->meta.key());
                           changed_(Change::kNodes);
                         }});
}

}  // namespace berth::admission
