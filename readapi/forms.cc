#include "readapi/forms.h"

#include <string>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

struct Form {
  const char* name;
  std::string_view keys;  // "key type, key type"
};

constexpr Form kForms[] = {
    {"Amount", "resource text, unit text, amount whole"},
    {"Use", "resource text, unit text, used whole, nominal whole, borrowed whole, lent whole"},
    {"Quota", "flavor text, resource text, unit text, nominal whole"},
    {"Forecast", "at time, p10 time|null, p50 time|null, p90 time|null"},
    {"Tried",
     "podSet? text, flavor? text, resource? text, unit? text, asked? whole|null, available? "
     "whole|null, nominal? whole|null, limit? text, message? text"},
    {"PastReason", "reason text, message text, first time|null, last time|null, count whole"},
    {"Spared", "workload text, because text"},
    {"Reason", "kind text, message text, tried? Tried[], mayPreempt? text, history? PastReason[]"},
    {"Assigned", "podSet text, flavor text, resource text, unit text, amount whole"},
    {"Step",
     "name text, state one of done now ahead failed, since time|null, lines text[], reason? "
     "Reason, assigned? Assigned[]"},
    {"Story",
     "subject text, headline text, steps Step[], wouldStartIf text[], notSeen text[], givesUp "
     "text"},
    {"ForecastHits", "since time, byP10 whole, byP50 whole, byP90 whole, later whole"},
    {"WorkloadStory", "workload Workloads, story Story, forecasts ForecastHits|null"},
    {"Money", "usdPerHour text, usd text, measured? yes"},
    {"CostAnswer", "cost Money|null, hidden text[]"},
    {"CapacityPool",
     "name text, machineType text, nodes whole, maxNodes whole|null, stock whole|null"},
    {"Stock",
     "class text, flavor text, zone text, shape text, leastPods whole, askedInADay whole, "
     "grantedInADay whole, medianWaitSeconds whole|null, restsUntil time|null, failuresInARow "
     "whole, reason text|null"},
    {"QueueCost",
     "localQueue text, nodes whole, usdPerHour text, nodeSeconds whole, usd text, "
     "nodesWithoutPrice whole"},
    {"Price", "flavor text, usdPerHour text, policy? text, step? text, class? text"},
    {"OpenRequest",
     "namespace text, name text, class text, policyStep text|null, state text, ageSeconds whole, "
     "cost Money|null, workload text|null"},
    {"Capacity",
     "time time, requests OpenRequest[], nodePools CapacityPool[], stock Stock[], cost "
     "QueueCost[], prices Price[], hidden text[], narrowed text[]"},
    {"LevelRoom", "level text, amount whole"},
    {"Free", "resource text, unit text, free whole, onWholeNodes whole, largest LevelRoom[]"},
    {"Levels", "name text|null, levels text[], free Free[]"},
    {"NodeResource", "resource text, unit text, allocatable whole, used whole"},
    {"Occupant", "id text|null, name text, pods whole"},
    {"TopologyNode",
     "name text, ready yes, schedulable yes, pool text, topology text|null, domain text[], "
     "resources NodeResource[], workloads Occupant[], others whole"},
    {"Room", "topology text|null, domain text[], pods whole"},
    {"Gang",
     "id text, name text, podSet text, pods whole, level text, mode one of required preferred "
     "anywhere, fits yes, domains Room[]"},
    {"Topology",
     "time time, hidden text[], nodesLeftOut whole, topologies Levels[], nodes TopologyNode[], "
     "gangs Gang[]"},
    {"WhatIfChanges", "quota? text[], priority? text[], stop? text[]"},
    {"WhatIfSide", "startSeconds whole|null, chance number, preemptions number, reason text|null"},
    {"WhatIfJob",
     "namespace text, kind text, name text, localQueue text, effect text, worseOff yes, runs yes, "
     "before WhatIfSide|null, after WhatIfSide, shiftSeconds whole"},
    {"WhatIf",
     "at time, draws whole, seed whole, changes text[], worseOff whole, jobs WhatIfJob[], leftOut "
     "text[], apply text"},
    {"Action",
     "action one of stop resume priority deactivate activate, clusterQueue? text, localQueue? "
     "text, drain? yes, workload? text, priority? whole"},
    {"Done", "done text"},
    {"ReportLine",
     "key text, workloads whole, attempts whole, waits whole, waitedHours number, usedHours "
     "numbers, destroyedHours numbers, chargedHours numbers, costUsd number, measuredUsd number, "
     "unpriced whole"},
    {"HistoryPart",
     "from time, to time, admitted whole, preempted whole, p50WaitSeconds whole|null, "
     "p90WaitSeconds whole|null, used Amount[]"},
    {"QueueHistory", "clusterQueue text, parts HistoryPart[]"},
    {"WaitPart", "cause text, from time, seconds whole"},
    {"Turn",
     "namespace text, workload text, attempt whole, localQueue text, clusterQueue text, priority "
     "whole, queued time, quotaReserved time|null, admitted time|null, podsReady time|null, ended "
     "time|null, outcome text, reason text, preemptor text, waits WaitPart[]"},
    {"WorkloadHistory", "attempts Turn[]"},
    {"Report", "by text, from time, to time, lines ReportLine[]"},
    {"Count", "value text, count whole"}};

constexpr std::string_view kOneOf = "one of ";

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

Json SchemaOfType(std::string_view type) {
  const bool may_be_null = TakeSuffix(type, "|null");
  Json schema;
  if (TakeSuffix(type, "[]")) {
    schema = {{"type", "array"}, {"items", SchemaOfType(type)}};
  } else if (type == "text") {
    schema = {{"type", "string"}};
  } else if (type == "time") {
    schema = {{"type", "string"}, {"format", "date-time"}};
  } else if (type == "whole") {
    schema = {{"type", "integer"}, {"format", "int64"}};
  } else if (type == "numbers") {
    schema = {{"type", "object"}, {"additionalProperties", {{"type", "number"}}}};
  } else if (type.starts_with(kOneOf)) {
    schema = {{"type", "string"}, {"enum", Split(type.substr(kOneOf.size()), ' ')}};
  } else if (type == "number" || type == "yes") {
    schema = {{"type", type == "yes" ? "boolean" : "number"}};
  } else {
    schema = {{"$ref", "#/components/schemas/" + std::string(type)}};
  }
  if (!may_be_null) return schema;
  if (schema.contains("$ref")) return {{"oneOf", {schema, {{"type", "null"}}}}};
  schema["type"] = Json::array({schema["type"], "null"});
  return schema;
}

Json FormSchemas() {
  Json schemas = Json::object();
  for (const Form& form : kForms) {
    Json properties = Json::object();
    Json required = Json::array();
    for (const std::string_view each : Split(form.keys, ',')) {
      const std::string_view pair = TrimSpace(each);
      const std::size_t blank = pair.find(' ');
      std::string_view key = pair.substr(0, blank);
      if (!TakeSuffix(key, "?")) required.push_back(key);
      properties[std::string(key)] = SchemaOfType(pair.substr(blank + 1));
    }
    schemas[form.name] = {{"type", "object"}, {"properties", properties}};
    if (!required.empty()) schemas[form.name]["required"] = required;
  }
  return schemas;
}

}  // namespace berth::readapi
