#include "provisioning/disruption.h"

#include <algorithm>
#include <vector>

#include "base/cron_schedule.h"
#include "base/strings.h"
#include "base/time_zone.h"

namespace berth::provisioning {
namespace {

using api::KarpenterBudget;
using api::KarpenterNodePool;

bool IsReadable(const KarpenterBudget& budget) {
  const bool is_share = budget.nodes.ends_with('%');
  const std::string digits = budget.nodes.substr(0, budget.nodes.size() - (is_share ? 1 : 0));
  if (!ParseInt64(digits)) return false;
  return budget.schedule.empty() || CronSchedule::Parse(budget.schedule).has_value();
}

bool IsInForce(const KarpenterBudget& budget, WallTime now) {
  if (budget.schedule.empty()) return true;
  const auto schedule = CronSchedule::Parse(budget.schedule);
  if (!schedule || !budget.duration) return true;
  return schedule->Latest(now - *budget.duration, now, TimeZone()).has_value();
}

bool IsFor(const KarpenterBudget& budget, std::string_view cause) {
  return budget.causes.empty() ||
         std::find(budget.causes.begin(), budget.causes.end(), cause) != budget.causes.end();
}

std::vector<const KarpenterBudget*> InForce(const KarpenterNodePool& pool, std::string_view cause,
                                            WallTime now) {
  std::vector<const KarpenterBudget*> budgets;
  for (const KarpenterBudget& budget : pool.budgets) {
    if (IsFor(budget, cause) && IsInForce(budget, now)) budgets.push_back(&budget);
  }
  return budgets;
}

bool LetsNoneGo(const KarpenterBudget& budget) {
  return budget.nodes == "0" || budget.nodes == "0%" || !IsReadable(budget);
}

}  // namespace

bool BudgetLetsGo(const KarpenterNodePool& pool, std::string_view cause, WallTime now) {
  const auto budgets = InForce(pool, cause, now);
  return std::none_of(budgets.begin(), budgets.end(),
                      [](const KarpenterBudget* budget) { return LetsNoneGo(*budget); });
}

std::string BudgetText(const KarpenterNodePool& pool, std::string_view cause, WallTime now) {
  std::vector<std::string> texts;
  for (const KarpenterBudget* budget : InForce(pool, cause, now)) {
    const bool is_share = budget->nodes.ends_with('%');
    texts.push_back(is_share ? budget->nodes.substr(0, budget->nodes.size() - 1) + " %"
                             : budget->nodes + (budget->nodes == "1" ? " node" : " nodes"));
  }
  return Join(texts, ", ");
}

bool MayEmptyNodes(const KarpenterNodePool& pool, WallTime now) {
  return pool.consolidates && BudgetLetsGo(pool, kUnderusedNodes, now);
}

}  // namespace berth::provisioning
