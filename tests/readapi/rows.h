// Rows of Workloads for the tests of readapi/.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "readapi/cell_text.h"
#include "readapi/model.h"

namespace berth::readapi {

struct WorkloadRow {
  std::string space = "team-a";
  std::string name = "w";
  std::string queue = "cq";
  int priority = 0;
  std::string state = "waiting";
  std::string created = "2026-11-20T07:00:00Z";
  std::string remark = "quota";
  std::string not_preempted = "[]";
  std::string turn = "null";
};

inline Audience AudienceOf(std::vector<std::string> namespaces) {
  std::sort(namespaces.begin(), namespaces.end());
  return std::make_shared<const std::vector<std::string>>(std::move(namespaces));
}

inline Row MakeRow(const WorkloadRow& row) {
  const Resource& resource = Resources()[kWorkloads];
  Row made{.id = row.space + "/" + row.name,
           .cells = std::vector<std::string>(resource.fields.size(), "null"),
           .audience = AudienceOf({row.space})};
  const auto set = [&](const char* field, std::string cell) {
    made.cells[*resource.Find(field)] = std::move(cell);
  };
  set("namespace", QuoteJson(row.space));
  set("workload", QuoteJson(row.name));
  set("name", QuoteJson(row.name));
  set("kind", "\"Job\"");
  set("localQueue", "\"lq\"");
  set("clusterQueue", QuoteJson(row.queue));
  set("priority", std::to_string(row.priority));
  set("state", QuoteJson(row.state));
  set("cause", "\"quota\"");
  set("createdAt", QuoteJson(row.created));
  set("requests", "[]");
  set("remark", QuoteJson(row.remark));
  set("notPreempted", row.not_preempted);
  set("turn", row.turn);
  return made;
}

inline Row MakeQueueRow(const std::string& name, int waiting, const Audience& audience) {
  const Resource& resource = Resources()[kQueues];
  Row made{.id = name,
           .cells = std::vector<std::string>(resource.fields.size(), "null"),
           .audience = audience};
  made.cells[*resource.Find("name")] = QuoteJson(name);
  made.cells[*resource.Find("waiting")] = std::to_string(waiting);
  return made;
}

inline const Sight kEverywhere{.everywhere = true, .namespaces = {}};

}  // namespace berth::readapi
