#include "admission/quota/usage_ledger.h"

#include <chrono>
#include <cmath>
#include <limits>

namespace berth::admission {
namespace {

// Rounding leaves small remainders where all usage was subtracted.
constexpr double kDust = 1e-12;

void Add(Spending& sums, const Spending& amounts, double factor) {
  for (const auto& [resource, amount] : amounts) {
    double& sum = sums[resource];
    sum += amount * factor;
    if (std::abs(sum) < kDust) sums.erase(resource);
  }
}

}  // namespace

void UsageLedger::SetWeight(const api::ObjectKey& queue, double weight) {
  Account& account = accounts_[queue];
  account.weight = weight;
  account.exists = true;
}

void UsageLedger::Restore(const api::ObjectKey& queue, UsageHistory history) {
  Account& account = accounts_[queue];
  account.exists = true;
  if (account.known && history.last_update <= account.history.last_update) return;
  account.history = std::move(history);
  account.known = true;
}

void UsageLedger::Forget(const api::ObjectKey& queue) {
  const auto found = accounts_.find(queue);
  if (found == accounts_.end()) return;
  // The end of its workloads subtracts their usage.
  found->second.history = {};
  found->second.known = found->second.exists = false;
  found->second.weight = 1.0;
  DropIfUnused(queue);
}

void UsageLedger::DropIfUnused(const api::ObjectKey& queue) {
  const auto found = accounts_.find(queue);
  if (found == accounts_.end() || found->second.exists) return;
  if (found->second.admitted.empty() && found->second.penalties.empty()) accounts_.erase(found);
}

void UsageLedger::AddAdmitted(const api::ObjectKey& queue, const Spending& amounts, int sign) {
  Add(accounts_[queue].admitted, amounts, sign);
  DropIfUnused(queue);
}

Spending UsageLedger::EntryPenalty(const Spending& requests) const {
  Spending penalty;
  Add(penalty, requests, Alpha(config_.sampling_interval));
  return penalty;
}

void UsageLedger::AddPenalty(const api::ObjectKey& queue, const Spending& penalty, int sign) {
  Add(accounts_[queue].penalties, penalty, sign);
  DropIfUnused(queue);
}

void UsageLedger::Settle(const api::ObjectKey& queue, const Spending& penalty, WallTime now) {
  Account& account = accounts_[queue];
  Advance(account, now);
  Add(account.history.consumed, penalty, 1);
  Add(account.penalties, penalty, -1);
}

const UsageHistory& UsageLedger::Sample(const api::ObjectKey& queue, WallTime now) {
  Account& account = accounts_[queue];
  if (!account.known) {
    const bool remembers = config_.half_life > Duration::zero();
    account.history = {remembers ? account.admitted : Spending{}, now};
    account.known = true;
  } else if (now - account.history.last_update >= config_.sampling_interval) {
    Advance(account, now);
  }
  return account.history;
}

double UsageLedger::UsageOf(const api::ObjectKey& queue) const {
  const auto found = accounts_.find(queue);
  if (found == accounts_.end()) return 0;
  const Account& account = found->second;
  if (account.weight <= 0) return std::numeric_limits<double>::infinity();
  Spending total = account.history.consumed;
  Add(total, account.penalties, 1);
  double usage = 0;
  for (const auto& [resource, amount] : total) {
    const auto weight = config_.resource_weights.find(resource);
    usage += (weight == config_.resource_weights.end() ? 1.0 : weight->second) * amount;
  }
  return usage / account.weight;
}

double UsageLedger::Alpha(Duration span) const {
  if (config_.half_life <= Duration::zero() || span <= Duration::zero()) return 0;
  const double half_lives =
      std::chrono::duration<double>(span) / std::chrono::duration<double>(config_.half_life);
  return 1.0 - std::pow(0.5, half_lives);
}

void UsageLedger::Advance(Account& account, WallTime now) const {
  if (config_.half_life <= Duration::zero()) {
    account.history.consumed.clear();
  } else if (account.known) {
    const double alpha = Alpha(now - account.history.last_update);
    Spending consumed;
    Add(consumed, account.history.consumed, 1.0 - alpha);
    Add(consumed, account.admitted, alpha);
    account.history.consumed = std::move(consumed);
  }
  account.history.last_update = now;
  account.known = true;
}

}  // namespace berth::admission
