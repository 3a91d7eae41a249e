// local/apiserver/registry/field_tracker.h — the stage that keeps metadata.managedFields: who has
// written which field.
//
// Threads: any; may block (conversion webhooks, for entries of other versions).
// Source: Kubernetes server-side apply; ../patch/managed_fields.h does the work.
#pragma once

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/request.h"

namespace berth::local {

// kDone: the managedFields of the written object are up to date.
enum class Tracking { kUpdate, kDone };

class FieldTracker {
 public:
  FieldTracker(const Clock& clock, const Converter& converter)
      : clock_(clock), converter_(converter) {}

  // The manager of the request; it must not outlive this tracker.
  ManagerContext ManagerOf(const RequestContext& context) const;
  // Records the fields that a write other than an apply has changed. `live`: the stored object,
  // null on create.
  void Track(const RequestContext& context, const Json* live, Json& object) const;

 private:
  const Clock& clock_;
  const Converter& converter_;
};

}  // namespace berth::local
