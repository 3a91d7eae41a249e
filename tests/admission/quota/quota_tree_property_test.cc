// Goal: the quota tree's incremental numbers equal its formulae on the present nodes. Method:
// random changes of parents (cycles too), quotas, activity, usage and nodes, compared with a model
// that recomputes every number by the formulae in admission/quota/quota_tree.h.
#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "admission/quota/quota_tree.h"
#include "tests/support/property.h"

namespace berth::admission {
namespace {

using api::AddAmounts;
using api::SubtractAmounts;

constexpr int kTreeCohorts = 5;
constexpr int kNodes = 10;  // the rest are leaves
// Close numbers and distant ones, so that nodes use both a window and an index.
constexpr FlavorResourceId kNumbers[] = {0, 1, 2, 3, 40, 90, 200, 1000, 3000, 70000};

struct TreeStep {
  int kind = 0;
  int node = 0;
  int other = 0;
  int number = 0;
  int amount = 0;
  int limits = 0;
};
std::ostream& operator<<(std::ostream& out, const TreeStep& step) {
  return out << step.kind << " node " << step.node << " other " << step.other << " number "
             << step.number << " amount " << step.amount << " limits " << step.limits;
}

struct ModelNode {
  bool leaf = false;
  bool active = true;
  int parent = -1;
  std::map<FlavorResourceId, Quota> quotas;
  std::map<FlavorResourceId, Amount> usage;  // usage of a leaf
};

class Model {
 public:
  std::vector<ModelNode> nodes;

  bool InCycle(int node) const {
    for (int steps = 0; node >= 0; ++steps, node = at(node).parent) {
      if (steps > kNodes) return true;
    }
    return false;
  }
  Amount Subtree(int node, FlavorResourceId fr) const {
    Amount sum = Nominal(node, fr);
    for (const int child : ChildrenOf(node)) {
      sum = AddAmounts(sum, SubtractAmounts(Subtree(child, fr), Local(child, fr)));
    }
    return sum;
  }
  Amount Local(int node, FlavorResourceId fr) const {
    const auto quota = at(node).quotas.find(fr);
    if (quota == at(node).quotas.end() || !quota->second.lending_limit) return 0;
    return std::max<Amount>(0, SubtractAmounts(Subtree(node, fr), *quota->second.lending_limit));
  }
  Amount Usage(int node, FlavorResourceId fr) const {
    if (at(node).leaf) {
      const auto used = at(node).usage.find(fr);
      return used == at(node).usage.end() ? 0 : used->second;
    }
    Amount sum = 0;
    for (const int child : ChildrenOf(node)) {
      const Amount above = SubtractAmounts(Usage(child, fr), Local(child, fr));
      sum = AddAmounts(sum, std::max<Amount>(0, above));
    }
    return sum;
  }
  Amount Potential(int node, FlavorResourceId fr) const {
    if (at(node).parent < 0) return Subtree(node, fr);
    const Amount most = AddAmounts(Local(node, fr), Potential(at(node).parent, fr));
    const auto quota = at(node).quotas.find(fr);
    if (quota == at(node).quotas.end() || !quota->second.borrowing_limit) return most;
    return std::min(most, AddAmounts(Subtree(node, fr), *quota->second.borrowing_limit));
  }
  int Height(int node) const {
    int height = 0;
    for (const int child : ChildrenOf(node)) {
      if (!at(child).leaf || at(child).active) height = std::max(height, Height(child) + 1);
    }
    return height;
  }
  bool Declares(int node, FlavorResourceId fr) const {
    const std::vector<int> children = ChildrenOf(node);
    return at(node).quotas.contains(fr) ||
           std::any_of(children.begin(), children.end(),
                       [this, fr](int child) { return Declares(child, fr); });
  }

 private:
  const ModelNode& at(int node) const { return nodes[static_cast<std::size_t>(node)]; }
  Amount Nominal(int node, FlavorResourceId fr) const {
    const auto quota = at(node).quotas.find(fr);
    return quota == at(node).quotas.end() ? 0 : quota->second.nominal;
  }
  std::vector<int> ChildrenOf(int node) const {
    std::vector<int> children;
    for (int child = 0; child < kNodes; ++child) {
      if (at(child).parent == node) children.push_back(child);
    }
    return children;
  }
};

class TreeAndModel {
 public:
  TreeAndModel() {
    for (int node = 0; node < kNodes; ++node) {
      const bool leaf = node >= kTreeCohorts;
      model_.nodes.push_back({.leaf = leaf});
      numbers_.push_back(Make(leaf));
    }
  }

  void Do(const TreeStep& step) {
    ModelNode& node = model_.nodes[static_cast<std::size_t>(step.node)];
    const NodeId number = numbers_[static_cast<std::size_t>(step.node)];
    const FlavorResourceId fr = kNumbers[step.number];
    switch (step.kind) {
      case 0:
      case 1:
        node.parent = step.other < kTreeCohorts ? step.other : -1;
        tree_.SetParent(number, node.parent < 0 ? kNoQuotaNode
                                                : numbers_[static_cast<std::size_t>(node.parent)]);
        break;
      case 2:
      case 3: SetQuota(node, number, fr, step); break;
      case 4:
        node.quotas.erase(fr);
        ApplyQuotas(node, number);
        break;
      case 5:
        if (!node.leaf) break;
        node.active = !node.active;
        tree_.SetActiveLeaf(number, node.active);
        break;
      case 6:
      case 7:
        if (!node.leaf) break;
        node.usage[fr] += step.amount;
        tree_.AddUsage(number, {{fr, step.amount}});
        break;
      case 8:
        if (!node.leaf) break;
        tree_.RemoveUsage(number, {{fr, node.usage[fr]}});
        node.usage.erase(fr);
        break;
      default:
        if (!node.leaf) break;
        tree_.RemoveNode(number);
        node = {.leaf = true};
        numbers_[static_cast<std::size_t>(step.node)] = Make(true);
    }
  }

  void Compare() const {
    for (int i = 0; i < kNodes; ++i) {
      const NodeId number = numbers_[static_cast<std::size_t>(i)];
      RC_ASSERT(tree_.InCycle(number) == model_.InCycle(i));
      if (model_.InCycle(i)) continue;
      RC_ASSERT(tree_.Height(number) == model_.Height(i));
      std::vector<FlavorResourceId> declared;
      tree_.ForEachDeclared(number, [&](FlavorResourceId fr, Amount usage, Amount subtree) {
        declared.push_back(fr);
        RC_ASSERT(usage == model_.Usage(i, fr));
        RC_ASSERT(subtree == model_.Subtree(i, fr));
      });
      std::vector<FlavorResourceId> expected;
      for (const FlavorResourceId fr : kNumbers) {
        if (model_.Declares(i, fr)) expected.push_back(fr);
        RC_ASSERT(tree_.AmountsOf(number, fr).subtree == model_.Subtree(i, fr));
        RC_ASSERT(tree_.AmountsOf(number, fr).usage == model_.Usage(i, fr));
        RC_ASSERT(tree_.Potential(number, fr) == model_.Potential(i, fr));
        RC_ASSERT(tree_.AmountsOf(number, fr).LocalAvailable() ==
                  std::max<Amount>(0, SubtractAmounts(model_.Local(i, fr), model_.Usage(i, fr))));
      }
      RC_ASSERT(declared == expected);
    }
  }

 private:
  NodeId Make(bool leaf) {
    return tree_.AddNode(leaf ? QuotaTree::Kind::kLeaf : QuotaTree::Kind::kCohort);
  }
  void SetQuota(ModelNode& node, NodeId number, FlavorResourceId fr, const TreeStep& step) {
    Quota quota{fr, step.amount, {}, {}};
    if (step.limits == 7) quota.nominal = INT64_MAX;
    if (step.limits == 6) quota.nominal = INT64_MAX / 2 + 1;
    if (step.limits % 2 == 1) quota.lending_limit = step.limits;
    if (step.limits % 3 == 1) quota.borrowing_limit = step.limits;
    node.quotas[fr] = quota;
    ApplyQuotas(node, number);
  }
  void ApplyQuotas(const ModelNode& node, NodeId number) {
    std::vector<Quota> quotas;
    for (const auto& [fr, quota] : node.quotas) quotas.push_back(quota);
    tree_.SetQuotas(number, quotas);
  }

  QuotaTree tree_;
  Model model_;
  std::vector<NodeId> numbers_;
};

TEST(QuotaTreeProperty, TreeAgreesWithTheFormulasAfterEveryChange) {
  support::CheckProperty(3000, [] {
    const auto step = rc::gen::build<TreeStep>(
        rc::gen::set(&TreeStep::kind, support::Below(10)),
        rc::gen::set(&TreeStep::node, support::Below(kNodes)),
        rc::gen::set(&TreeStep::other, support::Below(kTreeCohorts + 2)),
        rc::gen::set(&TreeStep::number, support::Below(static_cast<int>(std::size(kNumbers)))),
        rc::gen::set(&TreeStep::amount, support::Below(20)),
        rc::gen::set(&TreeStep::limits, support::Below(8)));
    TreeAndModel both;
    for (const TreeStep& each : *rc::gen::container<std::vector<TreeStep>>(step)) {
      both.Do(each);
      both.Compare();
    }
  });
}

}  // namespace
}  // namespace berth::admission
