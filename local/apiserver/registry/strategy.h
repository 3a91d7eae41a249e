// local/apiserver/registry/strategy.h — the rules of one kind: fields that the server sets or
// ignores on writes, and writes that it refuses.
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
#include "local/apiserver/registry/metadata_rules.h"
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

  // The time a deletion waits for the component that runs the object; 0: none. `requested`:
  // the caller's gracePeriodSeconds, −1 for none.
  virtual std::int64_t GraceSeconds(const Json& /*object*/, std::int64_t /*requested*/) const {
    return 0;
  }
  // The reason why the object may not be deleted; empty: it may be.
  virtual std::string RefuseDeletion(const Json& /*object*/) const { return ""; }
  // Changes that a deletion makes outside of metadata.
  virtual void PrepareForDeletion(Json& /*object*/) const {}
  // False: the object is not removed yet, as if it had a finalizer.
  virtual bool MayVanish(const Json& /*object*/) const { return true; }
  // Whether deletion without propagationPolicy orphans dependents.
  virtual bool OrphansByDefault() const { return false; }
  // Whether deletion answers with the object in place of a Status.
  virtual bool AnswersDeletionWithObject() const { return false; }
};

// The strategy of a resource; the default one for kinds without own rules.
const Strategy& StrategyOf(const ResourceInfo& resource);

}  // namespace berth::local
