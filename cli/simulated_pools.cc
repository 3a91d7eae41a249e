#include "cli/simulated_pools.h"

#include <algorithm>
#include <array>
#include <memory>
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

namespace berth::cli {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostNodes = 100'000;  // of a pool
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

// USD: the price of the annotation, else the list price of the machine.
Result<double> PriceOf(const Json& document, const local::cloud::NodePool& pool) {
  constexpr double kNano = 1e-9;
  const std::string text = AnnotationOf(document, api::kPricePerHourAnnotation);
  if (text.empty()) return pool.is_spot ? pool.machine->price_spot : pool.machine->price_on_demand;
  const auto price = api::Quantity::Parse(text);
  if (price && !price->negative()) return static_cast<double>(price->NanoValue()) * kNano;
  return Error{ErrorCode::kInvalid, std::string("metadata.annotations: ") +
                                        api::kPricePerHourAnnotation +
                                        ": expected USD, such as \"0.89\""};
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
  BERTH_TRY(pool.price_per_hour, PriceOf(document, read));
  if (pool.max_nodes > kMostNodes || pool.min_nodes > pool.max_nodes) {
    return Error{ErrorCode::kInvalid,
                 "spec.minNodes, spec.maxNodes: expected the least number up "
                 "to the greatest, that up to the stock and to " +
                     std::to_string(kMostNodes)};
  }
  return pool;
}

}  // namespace

Result<std::vector<simulation::NodePool>> ReadSimulatedPools(const std::vector<Json>& documents) {
  std::vector<simulation::NodePool> pools;
  for (const Json& document : documents) {
    if (!document.is_object() || document.value("kind", Json()) != "NodePool") continue;
    Result<simulation::NodePool> pool = PoolOf(document);
    const auto metadata = document.find("metadata");
    const std::string name = metadata != document.end() && metadata->is_object() &&
                                     metadata->value("name", Json()).is_string()
                                 ? metadata->at("name").get<std::string>()
                                 : "";
    if (!pool) return Annotate(pool.error(), "NodePool " + name);
    for (const simulation::NodePool& known : pools) {
      if (known.name != pool->name) continue;
      return Error{ErrorCode::kInvalid, "NodePool " + name + ": the object stands twice"};
    }
    pools.push_back(*std::move(pool));
  }
  if (pools.empty()) return Error{ErrorCode::kInvalid, "no NodePool among the files"};
  return pools;
}

}  // namespace berth::cli
