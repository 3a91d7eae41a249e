#include "cli/simulation_events.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "simulation/run_report.h"

namespace berth::cli {
namespace {

using Line = nlohmann::ordered_json;
using simulation::NodeId;
using simulation::NodeLife;
using simulation::WorldEvent;

std::string_view NameOf(WorldEvent::Kind kind) {
  switch (kind) {
    case WorldEvent::Kind::kSubmitted: return "submitted";
    case WorldEvent::Kind::kStarted: return "started";
    case WorldEvent::Kind::kPreempted: return "preempted";
    case WorldEvent::Kind::kLost: return "lost";
    case WorldEvent::Kind::kFinished: break;
  }
  return "finished";
}

Line LineOf(Duration at, std::string_view event) {
  return {{"seconds", simulation::SecondsOf(at)}, {"event", event}};
}

struct NodeEvent {
  Duration at{};
  NodeId node = 0;
  std::string_view event;
};

// Returns the events of all nodes, by time and node. A node that goes while it boots is never
// ready.
std::vector<NodeEvent> NodeEventsOf(const std::vector<NodeLife>& lives) {
  std::vector<NodeEvent> events;
  for (const NodeLife& life : lives) {
    events.push_back({life.made, life.node, "nodeMade"});
    if (life.ready <= life.gone) events.push_back({life.ready, life.node, "nodeReady"});
    events.push_back({life.gone, life.node, "nodeGone"});
  }
  std::stable_sort(events.begin(), events.end(), [](const NodeEvent& a, const NodeEvent& b) {
    return std::pair(a.at, a.node) < std::pair(b.at, b.node);
  });
  return events;
}

}  // namespace

void SimulationEvents::Note(const WorldEvent& event) {
  Noted noted{.at = event.at, .job = event.job, .kind = event.kind, .preemptor = event.preemptor};
  if (event.kind == WorldEvent::Kind::kStarted) {
    noted.start = starts_.size();
    Start& start = starts_.emplace_back();
    if (event.admission != nullptr) {
      std::set<std::string> flavors;
      for (const auto& pods : event.admission->pod_set_assignments) {
        for (const auto& [resource, flavor] : pods.flavors) flavors.insert(flavor);
      }
      start.flavors.assign(flavors.begin(), flavors.end());
    }
    if (event.nodes != nullptr) {
      for (const auto& [node, pods] : event.nodes->pods) start.nodes.push_back(node);
    }
  }
  events_.push_back(noted);
}

Status SimulationEvents::Write(const std::string& file, const simulation::Cluster& cluster,
                               const std::vector<simulation::Job>& jobs,
                               const std::vector<simulation::NodePool>& pools,
                               const simulation::WorldResult& result) const {
  std::map<NodeId, std::string> names;
  for (const NodeLife& life : result.nodes) {
    names[life.node] = simulation::NodeName(pools, life);
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  const std::vector<NodeEvent> node_events = NodeEventsOf(result.nodes);
  auto next = node_events.begin();
  const auto write_nodes_until = [&](Duration at) {
    for (; next != node_events.end() && next->at <= at; ++next) {
      Line line = LineOf(next->at, next->event);
      line["node"] = names[next->node];
      out << api::FormatOrderedJson(line) << '\n';
    }
  };
  for (const Noted& event : events_) {
    write_nodes_until(event.at);
    const simulation::Job& job = jobs[event.job];
    const api::LocalQueue& queue = cluster.local_queues[job.local_queue];
    Line line = LineOf(event.at, NameOf(event.kind));
    line["line"] = job.line;
    line["localQueue"] = queue.meta.namespace_name + "/" + queue.meta.name;
    line["clusterQueue"] = queue.cluster_queue;
    if (event.kind == WorldEvent::Kind::kFinished && job.failed) line["failed"] = true;
    if (event.preemptor) line["preemptor"] = jobs[*event.preemptor].line;
    if (event.kind == WorldEvent::Kind::kStarted) {
      const Start& start = starts_[event.start];
      line["flavors"] = start.flavors;
      if (!pools.empty()) {
        line["nodes"] = Line::array();
        for (const NodeId node : start.nodes) line["nodes"].push_back(names[node]);
      }
    }
    out << api::FormatOrderedJson(line) << '\n';
  }
  write_nodes_until(Duration::max());
  out.close();
  if (out) return OkStatus();
  return Error{ErrorCode::kInvalid, "--events: cannot write " + file};
}

}  // namespace berth::cli
