#include "tests/simulation/faults/quota_law.h"

#include <algorithm>

namespace berth::sim {
namespace {

constexpr int kDeepest = 16;
constexpr std::int64_t kNothing = -(std::int64_t{1} << 60);

QuotaFacts QuotaOf(const Quotas& quotas, const QuotaLaw::What& what) {
  const auto found = quotas.find(what);
  return found == quotas.end() ? QuotaFacts{} : found->second;
}

}  // namespace

QuotaLaw::QuotaLaw(const Truth& truth) {
  const auto add = [this](const std::string& id, const QueueFacts& facts) {
    const std::string parent = facts.parent.empty() ? "" : "c:" + facts.parent;
    nodes_[id] = {parent, facts.quotas};
    if (!parent.empty()) nodes_[parent];  // a cohort is there as soon as somebody names it
  };
  for (const auto& [name, cohort] : truth.cohorts()) add("c:" + name, cohort);
  for (const auto& [name, queue] : truth.cluster_queues()) {
    add("q:" + name, queue);
    if (queue.stopped || queue.deleting) stopped_.insert(name);
  }
}

QuotaLaw::Numbers QuotaLaw::NumbersOf(const std::string& node, const What& what,
                                      const std::map<std::string, FlavorAmounts>& usage,
                                      int depth) const {
  Numbers numbers;
  const QuotaFacts quota = QuotaOf(nodes_.at(node).quotas, what);
  numbers.subtree = quota.nominal;
  if (node[0] == 'q') {
    const auto own = usage.find(node.substr(2));
    if (own != usage.end()) {
      const auto amount = own->second.find(what);
      if (amount != own->second.end()) numbers.usage = amount->second;
    }
  } else if (depth < kDeepest) {
    for (const auto& [id, child] : nodes_) {
      if (child.parent != node) continue;
      const Numbers below = NumbersOf(id, what, usage, depth + 1);
      numbers.subtree += below.subtree - below.local;
      numbers.usage += std::max<std::int64_t>(0, below.usage - below.local);
    }
  }
  if (quota.lending_limit) {
    numbers.local = std::max<std::int64_t>(0, numbers.subtree - *quota.lending_limit);
  }
  return numbers;
}

std::int64_t QuotaLaw::AvailableAt(const std::string& node, const What& what,
                                   const std::map<std::string, FlavorAmounts>& usage,
                                   int depth) const {
  if (depth > kDeepest) return kNothing;
  const Numbers here = NumbersOf(node, what, usage, 0);
  const std::string& parent = nodes_.at(node).parent;
  if (parent.empty()) return here.subtree - here.usage;
  std::int64_t from_parent = AvailableAt(parent, what, usage, depth + 1);
  if (const auto limit = QuotaOf(nodes_.at(node).quotas, what).borrowing_limit) {
    const std::int64_t lent = here.subtree - here.local;
    const std::int64_t used = std::max<std::int64_t>(0, here.usage - here.local);
    from_parent = std::min(from_parent, lent - used + *limit);
  }
  return std::max<std::int64_t>(0, here.local - here.usage) + from_parent;
}

std::int64_t QuotaLaw::Available(const std::string& queue, const What& what,
                                 const std::map<std::string, FlavorAmounts>& usage) const {
  if (!HasQueue(queue)) return kNothing;
  return AvailableAt("q:" + queue, what, usage, 0);
}

}  // namespace berth::sim
