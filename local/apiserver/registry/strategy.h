// local/apiserver/registry/strategy.h — what is special about one kind: what the server sets and
// ignores on writes, and what it refuses.
//
//   create: PrepareForCreate → Validate
//   update: PrepareForUpdate → ValidateUpdate    (subresource: "" or "status", "finalize", …)
//
// Threads: immutable; any thread. Source: Kubernetes registry strategies, restated; the rules of
// single kinds are in strategies/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/object_meta.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

class Strategy {
 public:
  virtual ~Strategy() = default;

  virtual NameRule name_rule() const { return NameRule::kSubdomain; }

  virtual void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const;
  virtual std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const;

  virtual void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                                std::string_view subresource, WallTime now) const;
  virtual std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                            const Json& old_object,
                                            std::string_view subresource) const;

  // How long a deletion waits for whoever runs the object; 0: it goes at once. `requested`: the
  // caller's gracePeriodSeconds, −1 for none.
  virtual std::int64_t GraceSeconds(const Json& /*object*/, std::int64_t /*requested*/) const {
    return 0;
  }
  // Why the object may not be deleted; empty: it may.
  virtual std::string RefuseDeletion(const Json& /*object*/) const { return ""; }
  // What deletion changes beside metadata.
  virtual void PrepareForDeletion(Json& /*object*/) const {}
  // What holds the object beside metadata.finalizers.
  virtual bool MayVanish(const Json& /*object*/) const { return true; }
  // Deletion without propagationPolicy leaves dependents alone.
  virtual bool OrphansByDefault() const { return false; }
  // Deletion answers with the object, not with a Status.
  virtual bool AnswersDeletionWithObject() const { return false; }
};

// Of a resource by its storage name; the plain one for kinds without rules of their own.
const Strategy& StrategyOf(const ResourceInfo& resource);

}  // namespace berth::local
