// queue/namespaces.h — the labels of the namespaces that workloads of a QueueSet are in, by number.
//
// A namespace has a number while it has labels or members (workloads). The QueueSet adds and
// removes members; the owner of the QueueSet sets labels.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "queue/names.h"

namespace berth::queue {

class Namespaces {
 public:
  void Set(const std::string& name, const api::StringMap& labels);
  void Remove(const std::string& name);

  // Names::kNone: the name has no number.
  std::int32_t Find(const std::string& name) const { return names_.Find(name); }
  std::int32_t NumberFor(const std::string& name);  // assigned if missing
  void AddMember(std::int32_t number) { ++entry(number).members; }
  void RemoveMember(std::int32_t number);
  // Whether the namespace is known and its labels match; an absent selector matches none.
  bool Matches(const std::optional<api::LabelSelector>& selector, std::int32_t number) const;
  // Greater than every number.
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    api::StringMap labels;
    bool present = false;
    std::int64_t members = 0;  // number of workloads
  };

  Entry& entry(std::int32_t number) { return entries_[static_cast<std::size_t>(number)]; }
  void ReleaseIfUnused(std::int32_t number);

  Names names_;
  std::vector<Entry> entries_;
};

}  // namespace berth::queue
