#include "program/caller_actions.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;

constexpr char kRoot[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kNodePools[] = "/apis/cloud.berth.dev/v1alpha1/nodepools/";
constexpr std::size_t kMaxNameBytes = 253;
constexpr std::uint64_t kMaxStock = 1'000'000;

Error BadAction(const std::string& message) { return {ErrorCode::kInvalid, message}; }

// A name of Kubernetes: no character of it ends a segment of a path.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

Result<std::string> StringAt(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end() || !found->is_string()) {
    return BadAction(std::string(key) + ": a text is needed");
  }
  return found->get<std::string>();
}

// The path of "NAMESPACE/NAME".
Result<std::string> PathInNamespace(const std::string& key, const std::string& text,
                                    const char* plural) {
  const std::size_t slash = text.find('/');
  const std::string space = text.substr(0, slash);
  const std::string name = slash == std::string::npos ? "" : text.substr(slash + 1);
  if (!IsName(space) || !IsName(name)) return BadAction(key + ": write NAMESPACE/NAME");
  return std::string(kRoot) + "namespaces/" + space + "/" + plural + "/" + name;
}

struct Target {
  std::string path;
  std::string words;  // "ClusterQueue team"
};

Result<Target> QueueOf(const Json& body) {
  if (body.contains("clusterQueue") == body.contains("localQueue")) {
    return BadAction("name one of clusterQueue (NAME) and localQueue (NAMESPACE/NAME)");
  }
  if (body.contains("localQueue")) {
    BERTH_TRY(const std::string name, StringAt(body, "localQueue"));
    BERTH_TRY(std::string path, PathInNamespace("localQueue", name, "localqueues"));
    return Target{std::move(path), "LocalQueue " + name};
  }
  BERTH_TRY(const std::string name, StringAt(body, "clusterQueue"));
  if (!IsName(name)) return BadAction("clusterQueue: write the name of a ClusterQueue");
  return Target{std::string(kRoot) + "clusterqueues/" + name, "ClusterQueue " + name};
}

Result<Target> WorkloadOf(const Json& body) {
  BERTH_TRY(const std::string name, StringAt(body, "workload"));
  BERTH_TRY(std::string path, PathInNamespace("workload", name, "workloads"));
  return Target{std::move(path), "Workload " + name};
}

// Refuses keys other than these: a misspelt one must not be passed over.
Status CheckKeys(const Json& body, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : body.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return BadAction("a key is unknown, or does not belong to this action");
    }
  }
  return OkStatus();
}

Result<CallerAction> StopOrResume(const Json& body, bool stops) {
  BERTH_CHECK_OK(CheckKeys(body, {"action", "clusterQueue", "localQueue", "drain"}));
  BERTH_TRY(const Target target, QueueOf(body));
  const auto drain = body.find("drain");
  if (drain != body.end() && (!stops || !drain->is_boolean())) {
    return BadAction("drain: true or false, of the action stop");
  }
  const bool drains = drain != body.end() && drain->get<bool>();
  const char* policy = stops ? (drains ? "HoldAndDrain" : "Hold") : "None";
  const char* words = stops ? (drains ? ": stopped; running workloads are evicted"
                                      : ": stopped; running workloads continue")
                            : ": resumed";
  return CallerAction{target.path, {{"spec", {{"stopPolicy", policy}}}}, target.words + words};
}

Result<CallerAction> SetPriority(const Json& body) {
  BERTH_CHECK_OK(CheckKeys(body, {"action", "workload", "priority"}));
  BERTH_TRY(const Target target, WorkloadOf(body));
  const auto priority = body.find("priority");
  using Limits = std::numeric_limits<std::int32_t>;
  if (priority == body.end() || !priority->is_number_integer() ||
      (priority->is_number_unsigned() && priority->get<std::uint64_t>() > Limits::max()) ||
      (!priority->is_number_unsigned() && priority->get<std::int64_t>() < Limits::min())) {
    return BadAction("priority: a whole number of 32 bits is needed");
  }
  const auto value = priority->get<std::int64_t>();
  return CallerAction{target.path,
                      {{"spec", {{"priority", value}}}},
                      target.words + ": priority " + std::to_string(value)};
}

Result<CallerAction> Activate(const Json& body, bool active) {
  BERTH_CHECK_OK(CheckKeys(body, {"action", "workload"}));
  BERTH_TRY(const Target target, WorkloadOf(body));
  return CallerAction{target.path,
                      {{"spec", {{"active", active}}}},
                      target.words + (active ? ": queued again" : ": deactivated")};
}

// Sets the stock of the emulated cloud: other clouds do not serve the kind, and the API server says
// so.
Result<CallerAction> SetStock(const Json& body) {
  BERTH_CHECK_OK(CheckKeys(body, {"action", "nodePool", "zone", "stock"}));
  BERTH_TRY(const std::string name, StringAt(body, "nodePool"));
  if (!IsName(name)) return BadAction("nodePool: write the name of a NodePool");
  const auto stock = body.find("stock");
  const bool is_unlimited = stock != body.end() && stock->is_null();
  const bool is_number = stock != body.end() && stock->is_number_unsigned() &&
                         stock->get<std::uint64_t>() <= kMaxStock;
  if (!is_unlimited && !is_number) {
    return BadAction("stock: a whole number from 0 to " + std::to_string(kMaxStock) +
                     " is needed, or null: unlimited");
  }
  const std::string words = is_unlimited ? "unlimited" : api::FormatJson(*stock);
  if (!body.contains("zone")) {
    return CallerAction{kNodePools + name,
                        {{"spec", {{"stock", *stock}}}},
                        "NodePool " + name + ": stock " + words};
  }
  BERTH_TRY(const std::string zone, StringAt(body, "zone"));
  if (!IsName(zone)) return BadAction("zone: write the name of a zone");
  return CallerAction{kNodePools + name,
                      {{"spec", {{"stockByZone", {{zone, *stock}}}}}},
                      "NodePool " + name + ", zone " + zone + ": stock " + words};
}

}  // namespace

Result<CallerAction> ParseAction(const std::string& body) {
  constexpr int kDepth = 2;
  const Json object = api::ParseJsonOrNull(body, {.max_depth = kDepth, .max_values = 16});
  if (!object.is_object()) return BadAction("send an object of JSON with the key action");
  BERTH_TRY(const std::string action, StringAt(object, "action"));
  if (action == "stop") return StopOrResume(object, true);
  if (action == "resume") return StopOrResume(object, false);
  if (action == "priority") return SetPriority(object);
  if (action == "deactivate") return Activate(object, false);
  if (action == "activate") return Activate(object, true);
  if (action == "stock") return SetStock(object);
  return BadAction("action: write stop, resume, priority, deactivate, activate or stock");
}

}  // namespace berth::program
