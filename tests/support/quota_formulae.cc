#include "tests/support/quota_formulae.h"

#include <algorithm>

namespace berth::support {
namespace {

constexpr int kDeepest = 16;
constexpr std::int64_t kNothing = -(std::int64_t{1} << 60);

constexpr std::int64_t AtLeastZero(std::int64_t amount) {
  return std::max<std::int64_t>(0, amount);
}

std::string CohortNode(const std::string& name) { return name.empty() ? "" : "cohort/" + name; }

}  // namespace

void QuotaFormulae::AddQueue(const std::string& name, const std::string& cohort, Quotas quotas) {
  nodes_["queue/" + name] = {CohortNode(cohort), std::move(quotas)};
  if (!cohort.empty()) nodes_[CohortNode(cohort)];
}

void QuotaFormulae::AddCohort(const std::string& name, const std::string& parent, Quotas quotas) {
  nodes_[CohortNode(name)] = {CohortNode(parent), std::move(quotas)};
  if (!parent.empty()) nodes_[CohortNode(parent)];
}

Quota QuotaFormulae::QuotaOf(const std::string& node, const FlavorResource& fr) const {
  const Quotas& quotas = nodes_.at(node).quotas;
  const auto found = quotas.find(fr);
  return found == quotas.end() ? Quota{} : found->second;
}

QuotaFormulae::Numbers QuotaFormulae::NumbersOf(const std::string& node, const FlavorResource& fr,
                                                const UsageByQueue& usage, int depth) const {
  constexpr std::size_t kPrefix = 6;  // the length of "queue/"
  Numbers numbers;
  const Quota quota = QuotaOf(node, fr);
  numbers.subtree = quota.nominal;
  if (node.front() == 'q') {
    if (const auto own = usage.find(node.substr(kPrefix)); own != usage.end()) {
      const auto amount = own->second.find(fr);
      if (amount != own->second.end()) numbers.usage = amount->second;
    }
  } else if (depth < kDeepest) {
    for (const auto& [name, child] : nodes_) {
      if (child.parent != node) continue;
      const Numbers below = NumbersOf(name, fr, usage, depth + 1);
      numbers.subtree += below.subtree - below.local;
      numbers.usage += AtLeastZero(below.usage - below.local);
    }
  }
  if (quota.lending_limit) numbers.local = AtLeastZero(numbers.subtree - *quota.lending_limit);
  return numbers;
}

std::int64_t QuotaFormulae::AvailableAt(const std::string& node, const FlavorResource& fr,
                                        const UsageByQueue& usage, int depth) const {
  if (depth > kDeepest) return kNothing;
  const Numbers here = NumbersOf(node, fr, usage, 0);
  const std::string& parent = nodes_.at(node).parent;
  if (parent.empty()) return here.subtree - here.usage;
  std::int64_t from_parent = AvailableAt(parent, fr, usage, depth + 1);
  if (const auto limit = QuotaOf(node, fr).borrowing_limit) {
    from_parent = std::min(
        from_parent, (here.subtree - here.local) - AtLeastZero(here.usage - here.local) + *limit);
  }
  return AtLeastZero(here.local - here.usage) + from_parent;
}

std::int64_t QuotaFormulae::PotentialAt(const std::string& node, const FlavorResource& fr,
                                        int depth) const {
  if (depth > kDeepest) return kNothing;
  const Numbers here = NumbersOf(node, fr, {}, 0);
  const std::string& parent = nodes_.at(node).parent;
  if (parent.empty()) return here.subtree;
  const std::int64_t most = here.local + PotentialAt(parent, fr, depth + 1);
  const auto limit = QuotaOf(node, fr).borrowing_limit;
  return limit ? std::min(most, here.subtree + *limit) : most;
}

std::int64_t QuotaFormulae::Available(const std::string& queue, const FlavorResource& fr,
                                      const UsageByQueue& usage) const {
  return HasQueue(queue) ? AvailableAt("queue/" + queue, fr, usage, 0) : kNothing;
}

std::int64_t QuotaFormulae::Potential(const std::string& queue, const FlavorResource& fr) const {
  return HasQueue(queue) ? PotentialAt("queue/" + queue, fr, 0) : kNothing;
}

std::int64_t QuotaFormulae::PotentialOf(const std::string& node, const FlavorResource& fr) const {
  return PotentialAt(node, fr, 0);
}

const std::string& QuotaFormulae::ParentOf(const std::string& node) const {
  return nodes_.at(node).parent;
}

std::int64_t QuotaFormulae::Subtree(const std::string& node, const FlavorResource& fr) const {
  return NumbersOf(node, fr, {}, 0).subtree;
}

std::int64_t QuotaFormulae::Usage(const std::string& node, const FlavorResource& fr,
                                  const UsageByQueue& usage) const {
  return NumbersOf(node, fr, usage, 0).usage;
}

std::string QuotaFormulae::RootOf(const std::string& queue) const {
  std::string node = "queue/" + queue;
  for (int depth = 0; depth <= kDeepest; ++depth) {
    const std::string& parent = nodes_.at(node).parent;
    if (parent.empty()) break;
    node = parent;
  }
  return node;
}

bool QuotaFormulae::SameTree(const std::string& queue, const std::string& other) const {
  return HasQueue(queue) && HasQueue(other) && RootOf(queue) == RootOf(other);
}

bool QuotaFormulae::BorrowsSomewhere(const std::string& queue, const FlavorResource& fr,
                                     const UsageByQueue& usage) const {
  if (!HasQueue(queue)) return false;
  std::string node = "queue/" + queue;
  for (int depth = 0; depth <= kDeepest && !nodes_.at(node).parent.empty(); ++depth) {
    const Numbers numbers = NumbersOf(node, fr, usage, 0);
    if (numbers.usage > numbers.subtree) return true;
    node = nodes_.at(node).parent;
  }
  return false;
}

std::vector<std::string> QuotaFormulae::Nodes() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

std::set<FlavorResource> QuotaFormulae::FlavorResources() const {
  std::set<FlavorResource> all;
  for (const auto& [name, node] : nodes_) {
    for (const auto& [fr, quota] : node.quotas) all.insert(fr);
  }
  return all;
}

}  // namespace berth::support
