#include "forecast/simulated_pools.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "local/cloud/machine_catalogue.h"
#include "local/cloud/node_pool.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostNodes = 100'000;  // the most nodes of a pool
constexpr char kBootSecondsAnnotation[] = "simulation.berth.dev/boot-seconds";
constexpr std::int64_t kLongestBoot = 24 * 3600;
constexpr std::size_t kMostBoots = 1000;

Status CheckNumbers(const Json& spec) {
  constexpr std::array<const char*, 5> kNumbers{"minNodes", "maxNodes", "bootSeconds",
                                                "idleSeconds", "stock"};
  for (const char* field : kNumbers) {
    const auto found = spec.find(field);
    if (found == spec.end()) continue;
    if (found->is_number_integer() && *found >= 0) continue;
    return Error{ErrorCode::kInvalid,
                 std::string("spec.") + field + ": expected a whole number of 0 or more"};
  }
  return OkStatus();
}

std::string AnnotationOf(const Json& document, const char* name) {
  const Json::json_pointer path = Json::json_pointer("/metadata/annotations") / name;
  if (!document.contains(path)) return "";
  const Json& value = document.at(path);
  return value.is_string() ? value.get<std::string>() : "?";
}

// The list of the annotation: seconds, separated by blanks.
Result<std::vector<Duration>> BootsOf(const Json& document) {
  std::vector<Duration> boots;
  const std::string text = AnnotationOf(document, kBootSecondsAnnotation);
  for (const std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    const auto seconds = ParseInt64(word);
    if (!seconds || *seconds < 0 || *seconds > kLongestBoot || boots.size() == kMostBoots) {
      return Error{ErrorCode::kInvalid, std::string("metadata.annotations: ") +
                                            kBootSecondsAnnotation +
                                            ": expected up to 1000 numbers of seconds"};
    }
    boots.emplace_back(std::chrono::seconds(*seconds));
  }
  return boots;
}

// USD of the annotation; nullopt: there is none.
Result<std::optional<double>> AnnotatedPrice(const Json& document) {
  constexpr double kNano = 1e-9;
  const std::string text = AnnotationOf(document, api::kPricePerHourAnnotation);
  if (text.empty()) return std::optional<double>();
  const auto price = api::Quantity::Parse(text);
  if (price && !price->negative()) {
    return std::optional(static_cast<double>(price->NanoValue()) * kNano);
  }
  return Error{ErrorCode::kInvalid, std::string("metadata.annotations: ") +
                                        api::kPricePerHourAnnotation +
                                        ": expected USD, such as \"0.89\""};
}

// USD: the price of the annotation, else the list price of the machine.
Result<double> PriceOf(const Json& document, const local::cloud::NodePool& pool) {
  BERTH_TRY(const std::optional<double> price, AnnotatedPrice(document));
  return price.value_or(pool.is_spot ? pool.machine->price_spot : pool.machine->price_on_demand);
}

Result<simulation::NodePool> PoolOf(const Json& document) {
  const auto spec = document.find("spec");
  if (spec == document.end() || !spec->is_object()) {
    return Error{ErrorCode::kInvalid, "spec: expected an object"};
  }
  BERTH_CHECK_OK(CheckNumbers(*spec));
  local::cloud::NodePool read = local::cloud::ReadNodePool(std::make_shared<const Json>(document));
  read.is_queued = false;  // no taint for requests: an admitted job may use every pool
  if (read.machine == nullptr) {
    return Error{ErrorCode::kInvalid, "spec.machineType: \"" + read.machine_type +
                                          "\" is none of " +
                                          Join(local::cloud::MachineTypeNames(), ", ")};
  }
  simulation::NodePool pool;
  pool.name = read.name;
  const std::string zone = read.zones.empty() ? "" : read.zones.front();
  BERTH_TRY(pool.node, api::Decode<api::Node>(local::cloud::MakeExampleNode(read, zone)));
  pool.max_nodes = std::min(read.max_nodes, read.stock.value_or(read.max_nodes));
  pool.min_nodes = read.min_nodes;
  pool.boot = read.boot;
  BERTH_TRY(pool.boots, BootsOf(document));
  pool.idle = read.idle;
  if (read.eviction) {
    constexpr double kHundredHours = 100;
    pool.evictions_per_hour = static_cast<double>(read.eviction->per_100_hours) / kHundredHours;
    pool.evicted_after = read.eviction->after;
  }
  BERTH_TRY(pool.price_per_hour, PriceOf(document, read));
  if (pool.max_nodes > kMostNodes || pool.min_nodes > pool.max_nodes) {
    return Error{ErrorCode::kInvalid,
                 "spec.minNodes, spec.maxNodes: minNodes must be at most maxNodes, and maxNodes at "
                 "most the stock and " +
                     std::to_string(kMostNodes)};
  }
  return pool;
}

// The pool of one node.
Result<simulation::NodePool> FixedNodeOf(const Json& document) {
  simulation::NodePool pool;
  pool.is_node = true;
  BERTH_TRY(pool.node, api::Decode<api::Node>(document));
  pool.name = pool.node.meta.name;
  if (pool.name.empty()) {
    return Error{ErrorCode::kInvalid, "metadata.name: the object has no name"};
  }
  pool.max_nodes = pool.node.unschedulable ? 0 : 1;
  pool.min_nodes = pool.max_nodes;
  BERTH_TRY(const std::optional<double> price, AnnotatedPrice(document));
  pool.price_per_hour = price.value_or(0);
  return pool;
}

std::string TextOfPools(const Json& document, const char* pointer) {
  const Json::json_pointer path(pointer);
  const bool found = document.contains(path) && document.at(path).is_string();
  return found ? document.at(path).get<std::string>() : "";
}

// The NodePools of the emulated cloud and the Nodes, those of lists too.
std::vector<const Json*> MachinesIn(const std::vector<Json>& documents) {
  std::vector<const Json*> machines;
  const auto add = [&machines](const Json& object) {
    if (IsMachine(object)) machines.push_back(&object);
  };
  for (const Json& document : documents) {
    if (!document.is_object()) continue;
    const auto items = document.find("items");
    if (items == document.end() || !items->is_array()) {
      add(document);
      continue;
    }
    for (const Json& item : *items) {
      if (item.is_object()) add(item);
    }
  }
  return machines;
}

}  // namespace

bool IsMachine(const Json& object) {
  const std::string kind = TextOfPools(object, "/kind");
  const bool is_of_cloud = TextOfPools(object, "/apiVersion").starts_with("cloud.berth.dev/");
  return kind == "Node" || (kind == "NodePool" && is_of_cloud);
}

Result<std::vector<simulation::NodePool>> ReadSimulatedPools(const std::vector<Json>& documents,
                                                             PoolKinds kinds) {
  const std::vector<const Json*> machines = MachinesIn(documents);
  if (machines.empty()) {
    return Error{ErrorCode::kInvalid, "no NodePool and no Node among the files"};
  }
  std::set<std::string> of_cloud;  // names of NodePools
  for (const Json* each : machines) {
    if (TextOfPools(*each, "/kind") == "NodePool") {
      of_cloud.insert(TextOfPools(*each, "/metadata/name"));
    }
  }
  std::vector<simulation::NodePool> pools;
  std::set<std::string> known;
  for (const Json* each : machines) {
    const std::string kind = TextOfPools(*each, "/kind");
    const bool is_node = kind == "Node";
    if (is_node && kinds == PoolKinds::kNodePools) continue;
    if (is_node && of_cloud.contains(local::cloud::PoolOf(*each))) continue;
    const std::string name = kind + " " + TextOfPools(*each, "/metadata/name");
    Result<simulation::NodePool> pool = is_node ? FixedNodeOf(*each) : PoolOf(*each);
    if (!pool) return Annotate(pool.error(), name);
    if (!known.insert(pool->name).second) {
      return Error{ErrorCode::kInvalid, name + ": the object is defined twice"};
    }
    pools.push_back(*std::move(pool));
  }
  return pools;
}

}  // namespace berth::forecast
