// local/apiserver/registry/strategies/workload_checks.h — rules of apps/v1, policies and
// quotas that several kinds share.
//
// Pure. Source: Kubernetes 1.36 validation, restated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/registry/strategy.h"

namespace berth::local {

Json OrNull(const Json* value);

// Adds a cause if spec.FIELD is negative.
void CheckNotNegative(const Json& object, std::string_view field, std::vector<Cause>& causes);

// Adds a cause unless spec.selector exists, selects something, and selects the pods of
// spec.template. `kind` is used in messages.
void CheckSelector(const Json& object, const std::string& kind, std::vector<Cause>& causes);

// Adds a cause unless spec.template is a valid pod with restartPolicy Always.
void CheckTemplate(const Json& object, std::vector<Cause>& causes);

bool IsAmount(const Json& value);  // a number of 0 or more, or a percentage
bool IsZero(const Json* value);    // an amount of 0; null is not one

// Validates `spec` on creation and on every change of it.
class SpecStrategy : public Strategy {
 public:
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override;
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override;

 private:
  virtual std::vector<Cause> ValidateSpec(const Json& object) const = 0;
  // Checks a changed spec, beside ValidateSpec.
  virtual void CheckChange(const Json& /*object*/, const Json& /*old_object*/,
                           std::vector<Cause>& /*causes*/) const {}
};

// A SpecStrategy that refuses changes of spec.selector.
class WorkloadStrategy : public SpecStrategy {
 private:
  void CheckChange(const Json& object, const Json& old_object,
                   std::vector<Cause>& causes) const override;
};

}  // namespace berth::local
