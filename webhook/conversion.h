// webhook/conversion.h — kueue.x-k8s.io objects between v1beta1 and v1beta2.
//
//     POST /convert, ConversionReview v1:  objects ─Convert, one by one─▶ convertedObjects
//
// Kinds: ClusterQueue, Cohort, LocalQueue, Workload, MultiKueueCluster; every other kind is the
// same in both versions. Fields that the other version does not have are lost, as in Kueue: upwards
// LocalQueue status.flavors, status of pending workloads; downwards gates, slice constraints,
// concurrentAdmissionPolicy. Fields nobody knows are kept.
//
// Errors: kInvalid naming the kind, field or version. Threads: pure functions.
// Source: Kueue apis/kueue/v1beta1 conversion; the difference of the two CRD schemas.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::webhook {

// `object` in `api_version` ("kueue.x-k8s.io/v1beta2").
Result<nlohmann::json> Convert(const nlohmann::json& object, std::string_view api_version);

// What the objects of one ConversionReview may grow by: v1beta2 says once what many domains of a
// topology assignment share, v1beta1 says it for each.
struct ConversionBudget {
  std::size_t domains = 250'000;
  std::size_t bytes = 128 * 1024 * 1024;
};
Result<nlohmann::json> Convert(const nlohmann::json& object, std::string_view api_version,
                               ConversionBudget& budget);

// The answer to a ConversionReview; what is wrong with it stands in response.result.
nlohmann::json AnswerConversion(const nlohmann::json& review);

}  // namespace berth::webhook
