#include "local/cloud/cloud_step.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cloud/step_context.h"

namespace berth::local::cloud {
namespace {

std::map<std::string, PoolLedger> MakeLedgers(const CloudView& view) {
  std::map<std::string, PoolLedger> ledgers;
  for (const NodePool& pool : view.pools) {
    if (!cluster::IsDeleting(*pool.object)) ledgers[pool.name].pool = &pool;
  }
  for (const Object& node : view.nodes) {
    const auto ledger = ledgers.find(PoolOf(*node));
    if (!IsOurs(*node) || ledger == ledgers.end()) continue;
    ++ledger->second.nodes;
    ++ledger->second.nodes_by_zone[cluster::LabelOf(*node, kZoneLabel)];
    if (IsBooting(*node)) ++ledger->second.booting;
  }
  return ledgers;
}

cluster::ConditionValue PoolCondition(const NodePool& pool) {
  if (pool.machine != nullptr) return {"Ready", "True", "Ready", "The pool can make nodes."};
  return {"Ready", "False", "UnknownMachineType",
          fmt::format("The cloud has no machine type \"{}\". It has: {}.", pool.machine_type,
                      Join(MachineTypeNames(), ", "))};
}

void ReportPools(StepContext& context) {
  for (const auto& [name, ledger] : context.ledgers) {
    const NodePool& pool = *ledger.pool;
    const Json old = pool.object->value("status", Json::object());
    Json status = old;
    status["nodes"] = ledger.nodes;
    status["readyNodes"] = ledger.nodes - ledger.booting;
    status["queued"] = ledger.waiting_requests;
    if (ledger.in_stock() != INT64_MAX) {
      status["stock"] = ledger.in_stock();
    } else {
      status.erase("stock");
    }
    status["gpu"] = pool.accelerator_count == 0
                        ? "-"
                        : fmt::format("{} x {}", pool.accelerator_count, pool.accelerator_type);
    cluster::SetCondition(status, PoolCondition(pool), context.now);
    if (status != old) context.Do(SetPoolStatus{name, std::move(status)});
  }
}

}  // namespace

CloudStep StepCloud(const CloudView& view, const CloudTimes& times, WallTime now) {
  StepContext context{view, times, now, MakeLedgers(view), {}};
  const BookedRequests booked = AdvanceRequests(context);
  ScalePools(context, booked);
  StepMachineNode(context);
  ReportPools(context);
  return std::move(context.step);
}

}  // namespace berth::local::cloud
