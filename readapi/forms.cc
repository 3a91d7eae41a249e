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
    {"Quota",
     "flavor text, resource text, unit text, nominal whole, used? whole, borrowingLimit "
     "whole|null, lendingLimit whole|null"},
    {"Forecast", "at time, p10 time|null, p50 time|null, p90 time|null"},
    {"Tried",
     "podSet? text, flavor? text, resource? text, unit? text, asked? whole|null, available? "
     "whole|null, nominal? whole|null, limit? text, message? text"},
    {"PastReason", "reason text, message text, first time|null, last time|null, count whole"},
    {"Spared", "workload text, because text"},
    {"MeasuredStops", "lostSeconds whole, count whole"},
    {"Reason",
     "kind text, message text, tried? Tried[], mayPreempt? text, history? PastReason[], stops? "
     "MeasuredStops"},
    {"Assigned", "podSet text, flavor text, resource text, unit text, amount whole"},
    {"Advice", "reason text, class text, who text, remedy text"},
    {"AskedPool", "name text, nodes whole, maxNodes whole|null, stock whole|null"},
    {"CapacityAsked",
     "provisioningRequest text, class text, policyStep? text, advice? Advice, nodePool? AskedPool"},
    {"CapacityTried", "step text, at time, advice Advice"},
    {"Step",
     "name text, state one of done now ahead failed, since time|null, lines text[], reason? "
     "Reason, assigned? Assigned[], capacity? CapacityAsked, tried? CapacityTried[]"},
    {"Story",
     "subject text, headline text, steps Step[], wouldStartIf text[], notSeen text[], givesUp "
     "text"},
    {"ForecastHits", "since time, byP10 whole, byP50 whole, byP90 whole, later whole"},
    {"StoryPod", "name text, phase text, node text|null"},
    {"WorkloadStory",
     "workload Workloads, before whole|null, story Story, pods StoryPod[], podsLeftOut whole, "
     "forecasts ForecastHits|null"},
    {"Session", "signedIn yes, user? text, csrf? text, actions? yes, cluster? text, openId? text"},
    {"SignIn", "token? text, code? text, openId? OpenIdReturn"},
    {"OpenIdReturn", "code text, state text"},
    {"OpenIdAddress", "address text"},
    {"Money", "usdPerHour text, usd text, measured? yes"},
    {"CostAnswer", "cost Money|null, hidden text[]"},
    {"ObjectText", "kind text, name text, yaml text"},
    {"ToldEvent",
     "time time|null, kind text, name text, type text, reason text, message text, count whole"},
    {"WorkloadObjects",
     "objects ObjectText[], events ToldEvent[], eventsLeftOut whole, hidden text[]"},
    {"Locations", "items Location[], failed text[], namespacesWithoutPods text[]"},
    {"Location", "id text, remark text"},
    {"PodLog", "pod text, container text, containers text[], text text, cut yes"},
    {"CapacityPool",
     "name text, machineType text, nodes whole, maxNodes whole|null, stock whole|null, totalStock "
     "whole|null, stockByZone ZoneStock[]"},
    {"ZoneStock", "zone text, totalStock whole"},
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
     "QueueCost[], prices Price[], pendingPods? PendingPods[], karpenterNodePools? "
     "KarpenterPool[], machines? Machines[], hidden text[], narrowed text[]"},
    {"Machines", "resource text, unit text, ready whole, all whole"},
    {"PendingPods",
     "namespace text, workload text, check text, flavors text[], state one of Pending PodsWait, "
     "ageSeconds whole, message text"},
    {"KarpenterPool", "name text, limits texts, used texts, ready yes|null"},
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
     "anywhere, fits yes, domains Room[], cause text, remark text"},
    {"Topology",
     "time time, hidden text[], nodesLeftOut whole, gangsLeftOut whole, topologies Levels[], nodes "
     "TopologyNode[], gangs Gang[]"},
    {"WhatIfChanges", "quota? text[], priority? text[], stop? text[]"},
    {"WhatIfSide",
     "startSeconds whole|null, chance number, preemptions number, placeSeconds whole|null, reason "
     "text|null"},
    {"WhatIfJob",
     "namespace text, workload text, kind text, name text, localQueue text, effect text, worseOff "
     "yes, runs yes, before WhatIfSide|null, after WhatIfSide, shiftSeconds whole"},
    {"WhatIf",
     "at time, draws whole, seed whole, changes text[], worseOff whole, jobs WhatIfJob[], leftOut "
     "text[], apply text"},
    {"Action",
     "action one of stop resume priority deactivate activate stock, clusterQueue? text, "
     "localQueue? text, drain? yes, workload? text, priority? whole, nodePool? text, zone? text, "
     "stock? whole|null"},
    {"Done", "done text"},
    {"StopCosts", "measured whole, unmeasured whole, claimedHours number, lostHours number"},
    {"ReportLine",
     "key text, workloads whole, attempts whole, outcomes numbers, waits whole, waitedHours "
     "number, waitedHoursByResource numbers, usedHours numbers, destroyedHours numbers, "
     "stops StopCosts, chargedHours numbers, costUsd number, measuredUsd number, unpriced whole"},
    {"ReportPart",
     "waitedHours number, usedHours numbers, destroyedHours numbers, chargedHours numbers, costUsd "
     "number"},
    {"ReportHistoryLine", "key text, parts ReportPart[]"},
    {"ReportHistory",
     "by text, times HistoryTime[], lines ReportHistoryLine[], others ReportPart[], otherLines "
     "whole"},
    {"HistoryPart",
     "from time, to time, admitted whole, preempted whole, p50WaitSeconds whole|null, "
     "p90WaitSeconds whole|null, used Amount[], quota Amount[]"},
    {"QueueHistory", "clusterQueue text, parts HistoryPart[]"},
    {"CohortPart", "used Amount[]"},
    {"CohortQueue", "clusterQueue text, parts CohortPart[]"},
    {"CohortHistory", "cohort text, times HistoryTime[], queues CohortQueue[]"},
    {"StatePart",
     "waiting numbers, reserved number, running number, used Amount[], quota Amount[]"},
    {"WorkloadStates", "times HistoryTime[], parts StatePart[]"},
    {"HistoryTime", "from time, to time"},
    {"CapacityCounts",
     "asked whole, provisioned whole, failed whole, stockouts whole, open whole, p50WaitSeconds "
     "whole|null, p90WaitSeconds whole|null"},
    {"HourCounts", "answered whole, provisioned whole, stockouts whole"},
    {"CapacityLine", "key text, parts CapacityCounts[], hours HourCounts[]"},
    {"PoolPart",
     "standing number, ready number|null, booting number|null, idle number|null, costUsd number"},
    {"PoolLine", "pool text, parts PoolPart[]"},
    {"PriceSince", "flavor text, since time, usdPerHour number|null"},
    {"CapacityHistory",
     "times HistoryTime[], classes CapacityLine[], shapes CapacityLine[], pools PoolLine[], prices "
     "PriceSince[], linesLeftOut whole"},
    {"WaitPart", "cause text, from time, seconds whole"},
    {"Turn",
     "namespace text, workload text, uid text, job text, attempt whole, localQueue text, "
     "clusterQueue text, priority whole, labels text, user text, usdPerHour number|null, created "
     "time, queued time, quotaReserved time|null, admitted time|null, podsReady time|null, ended "
     "time|null, outcome text, reason text, message text, preemptor text, waits WaitPart[], "
     "resources HeldAmount[], destroyedHours numbers"},
    {"HeldAmount", "resource text, flavor text, amount whole, unit text"},
    {"PastRequest",
     "namespace text, name text, uid text, class text, workload text, created time, provisioned "
     "time|null, ended time|null, outcome text, reason text, message text"},
    {"PastNode",
     "node text, pool text, class text, namespace text, workload text, from time, until time, "
     "seconds whole, gpus whole, usdPerHour number|null, stands yes"},
    {"WorkloadHistory", "attempts Turn[], capacityRequests PastRequest[], nodes PastNode[]"},
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
  } else if (type == "numbers" || type == "texts") {
    schema = {{"type", "object"},
              {"additionalProperties", {{"type", type == "texts" ? "string" : "number"}}}};
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
