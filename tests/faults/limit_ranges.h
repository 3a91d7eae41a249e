// tests/faults/limit_ranges.h — the resources that LimitRanges make containers request.
//
// Threads: one at a time. Errors: none. Source: Kubernetes' defaults of LimitRange v1.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::sim {

class LimitRanges {
 public:
  using Key = std::pair<std::string, std::string>;  // namespace, name

  // `object`: null where the LimitRange is gone.
  void See(const Key& key, const nlohmann::json* object);
  // Returns the resources of the LimitRanges that exist in the namespace.
  std::set<std::string> Resources(const std::string& namespace_name) const;
  // Whether a LimitRange of the namespace names the resource, or named it at an earlier time.
  bool EverNamed(const std::string& namespace_name, const std::string& resource) const;

 private:
  std::map<Key, std::set<std::string>> ranges_;
  std::map<std::string, std::set<std::string>> ever_;  // by namespace
};

}  // namespace berth::sim
