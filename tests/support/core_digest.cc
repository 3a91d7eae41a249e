#include "tests/support/core_digest.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

namespace berth::support {
namespace {

// Flavor-resources by name: their numbers depend on the order of arrival.
std::map<std::string, admission::FlavorResourceId> FlavorResources(
    const admission::Scheduler& scheduler) {
  std::map<std::string, admission::FlavorResourceId> all;
  const admission::Vocabulary& names = scheduler.state().vocabulary();
  for (admission::FlavorResourceId fr = 0; fr < names.flavor_resources.size(); ++fr) {
    all[names.flavors[names.flavor_resources.FlavorOf(fr)] + "." +
        names.resources[names.flavor_resources.ResourceOf(fr)]] = fr;
  }
  return all;
}

void AddNode(const admission::Scheduler& scheduler, admission::NodeId node, std::ostream& out) {
  const admission::QuotaTree& tree = scheduler.state().tree();
  if (tree.InCycle(node)) {
    out << " in a cycle\n";
    return;
  }
  const admission::NodeId parent = tree.parent(node);
  out << " below '"
      << (parent == admission::kNoQuotaNode ? "" : scheduler.state().cohorts().NameOf(parent))
      << "' height " << tree.Height(node) << " weight " << scheduler.state().FairWeight(node);
  for (const auto& [name, fr] : FlavorResources(scheduler)) {
    // A flavor-resource without quota and usage anywhere is 0 everywhere.
    const admission::QuotaCell& amounts = tree.AmountsOf(node, fr);
    out << " " << name << " " << amounts.nominal << "/" << amounts.subtree << "/" << amounts.usage
        << "/" << tree.Potential(node, fr) << "/" << amounts.LocalAvailable() << "/"
        << tree.Available(node, fr) << "/" << amounts.BorrowingLimit().value_or(-1);
  }
  out << "\n";
}

}  // namespace

std::string DigestOfState(const admission::Scheduler& scheduler) {
  const admission::ClusterState& state = scheduler.state();
  const admission::Vocabulary& names = scheduler.state().vocabulary();
  std::ostringstream out;
  for (const std::string& cohort : state.cohorts().Names()) {
    out << "cohort " << cohort;
    AddNode(scheduler, *state.cohorts().Find(cohort), out);
  }
  for (const admission::ClusterQueueId id : state.cluster_queues().Present()) {
    const admission::QueueState& queue = state.queue(id);
    out << "queue " << queue.name << " " << queue.ActiveMessage();
    AddNode(scheduler, queue.node, out);
    for (const admission::ListedReservation& listed : state.reservations().Of(id)) {
      const admission::Reservation* reservation = listed.reservation;
      out << "  " << reservation->object->meta.name << " priority " << reservation->priority
          << " queued " << reservation->queued_at.time_since_epoch().count() << " reserved "
          << reservation->reserved_at.time_since_epoch().count()
          << (reservation->evicted ? " evicted" : "") << (reservation->admitted ? " admitted" : "");
      std::map<std::string, api::Amount> usage;
      for (const admission::FlavorResourceAmount& item : reservation->usage) {
        usage[names.flavors[names.flavor_resources.FlavorOf(item.flavor_resource)] + "." +
              names.resources[names.flavor_resources.ResourceOf(item.flavor_resource)]] =
            item.amount;
      }
      for (const auto& [fr, amount] : usage) out << " " << fr << "=" << amount;
      out << "\n";
    }
  }
  return out.str();
}

std::string DigestOfQueues(const admission::Scheduler& scheduler, Waiting waiting) {
  std::ostringstream out;
  for (const admission::ClusterQueueId id : scheduler.state().cluster_queues().Present()) {
    const queue::WaitingWorkloads::Lists view = scheduler.queues().waiting(id).Split();
    out << scheduler.state().queue(id).name << ":";
    if (waiting == Waiting::kMembers) {
      std::vector<std::string> members;
      for (const auto& list : {view.active, view.inadmissible}) {
        for (const admission::WorkloadId member : list) {
          members.push_back(scheduler.workloads().object(member)->meta.name);
        }
      }
      std::sort(members.begin(), members.end());
      for (const std::string& member : members) out << " " << member;
    } else {
      for (const admission::WorkloadId member : view.active) {
        out << " " << scheduler.workloads().object(member)->meta.name;
      }
      out << " |";
      for (const admission::WorkloadId member : view.inadmissible) {
        out << " " << scheduler.workloads().object(member)->meta.name;
      }
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace berth::support
