// tests/simulation/faults/quota_law.h — the quota rule of cohorts, written a second time and as
// plainly as possible, to hold the controllers against.
//
//     local(n) = lending limit set ? max(0, subtree(n) - lending limit) : 0
//     subtree(n) = nominal + Σ children (subtree - local)
//     usage(cohort) = Σ children max(0, usage - local)
//     available(root) = subtree - usage
//     available(n) = max(0, local - usage) + min(available(parent),
//                    subtree - local - max(0, usage - local) + borrowing limit)
//
// Pure. Source: Kueue KEP-79.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tests/simulation/faults/truth.h"

namespace berth::sim {

class QuotaLaw {
 public:
  using What = std::pair<std::string, std::string>;  // flavor, resource

  QuotaLaw() = default;
  explicit QuotaLaw(const Truth& truth);

  bool HasQueue(const std::string& queue) const { return nodes_.count("q:" + queue) > 0; }
  bool Stopped(const std::string& queue) const { return stopped_.count(queue) > 0; }
  // What ClusterQueue `queue` could still take when `usage` (by ClusterQueue) is in use; negative
  // where quota was cut below it, and far below zero under a cycle of cohorts.
  std::int64_t Available(const std::string& queue, const What& what,
                         const std::map<std::string, FlavorAmounts>& usage) const;

  friend bool operator==(const QuotaLaw& a, const QuotaLaw& b) {
    return a.nodes_ == b.nodes_ && a.stopped_ == b.stopped_;
  }

 private:
  struct Node {
    std::string parent;  // empty: a root
    Quotas quotas;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Numbers {
    std::int64_t subtree = 0;
    std::int64_t local = 0;
    std::int64_t usage = 0;
  };

  Numbers NumbersOf(const std::string& node, const What& what,
                    const std::map<std::string, FlavorAmounts>& usage, int depth) const;
  std::int64_t AvailableAt(const std::string& node, const What& what,
                           const std::map<std::string, FlavorAmounts>& usage, int depth) const;

  std::map<std::string, Node> nodes_;  // "q:name" or "c:name"
  std::set<std::string> stopped_;
};

}  // namespace berth::sim
