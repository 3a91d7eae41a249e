// local/apiserver/http/audit_trail.h — the events of requests in the audit log (audit.k8s.io/v1).
//
//   request ─Begin─▶ RequestReceived
//              └─▶ the responder of the exchange ─▶ ResponseStarted (streams) ─▶ ResponseComplete
//
// Threads: Begin on I/O threads. Source: k8s.io/apiserver pkg/audit, restated.
#pragma once

#include <memory>

#include "base/clock.h"
#include "local/apiserver/audit/audit_log.h"
#include "local/apiserver/audit/audit_policy.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {

class AuditTrail {
 public:
  // `log` and `clock` must outlive every exchange, `registry` every call of Begin.
  AuditTrail(AuditPolicy policy, AuditLog& log, const Registry& registry, const Clock* clock)
      : policy_(std::move(policy)), log_(log), registry_(registry), clock_(clock) {}

  // Call once for an exchange, before its answer. `user`: the authenticated user; `acting`: the
  // user that the request impersonates, or null.
  void Begin(Exchange& exchange, const AccessAttributes& access, const UserInfo& user,
             const UserInfo* acting);

 private:
  class Record;
  class RecordedResponder;
  class EndOfStream;

  Json RequestObject(const Exchange& exchange) const;

  const AuditPolicy policy_;
  AuditLog& log_;
  const Registry& registry_;
  const Clock* const clock_;
};

}  // namespace berth::local
