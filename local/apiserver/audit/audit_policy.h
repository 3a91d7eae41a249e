// local/apiserver/audit/audit_policy.h — decides which parts of each request the audit log gets
// (audit.k8s.io/v1 Policy).
//
// The first rule that matches a request decides; a request that no rule matches is not logged.
//
// Threads: immutable; any. Errors: kInvalid, with the field and the remedy.
// Source: k8s.io/apiserver pkg/audit/policy, restated.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/auth/user.h"

namespace berth::local {

enum class AuditLevel : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };
enum class AuditStage : std::uint8_t { kRequestReceived, kResponseStarted, kResponseComplete };
inline constexpr std::size_t kAuditStages = 3;

const char* NameOfLevel(AuditLevel level);
const char* NameOfStage(AuditStage stage);

struct AuditDecision {
  AuditLevel level = AuditLevel::kNone;
  std::array<bool, kAuditStages> omitted{};  // by stage

  bool Logs(AuditStage stage) const {
    return level != AuditLevel::kNone && !omitted[static_cast<std::size_t>(stage)];
  }
};

class AuditPolicy {
 public:
  // Every request at the level Metadata, without the stage RequestReceived.
  static AuditPolicy Default();
  // A policy file: YAML or JSON.
  static Result<AuditPolicy> Parse(std::string_view text);

  AuditDecision Decide(const UserInfo& user, const AccessAttributes& attributes) const;

 private:
  struct Resources {
    std::string group;
    std::vector<std::string> resources;  // "pods", "pods/log", "pods/*", "*/scale", "*"
    std::vector<std::string> names;
  };
  struct Rule {
    AuditDecision decision;
    std::vector<std::string> users;
    std::vector<std::string> groups;
    std::vector<std::string> verbs;
    std::vector<Resources> resources;
    std::vector<std::string> namespaces;
    std::vector<std::string> paths;
  };
  class Reader;

  static bool Matches(const Rule& rule, const UserInfo& user, const AccessAttributes& attributes);
  static bool MatchesResource(const Rule& rule, const AccessAttributes& attributes);

  std::vector<Rule> rules_;
};

}  // namespace berth::local
