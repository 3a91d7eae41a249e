// webhook/version_conversion.h — converts kueue.x-k8s.io objects between v1beta1 and v1beta2.
//
//     POST /convert, ConversionReview v1:  objects ─Convert, one by one─▶ convertedObjects
//
// Kinds: ClusterQueue, Cohort, LocalQueue, Workload, MultiKueueCluster; every other kind is equal
// in both versions. Fields that the other version lacks are lost, as in Kueue: to v1beta2
// LocalQueue status.flavors, status of pending workloads; to v1beta1 gates, slice constraints,
// concurrentAdmissionPolicy. Fields unknown to both versions are kept.
//
// Errors: kInvalid with kind, field or version. Threads: pure functions.
// Source: Kueue apis/kueue/v1beta1 conversion; the difference of the two CRD schemas.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::webhook {

// Converts `object` to `api_version` ("kueue.x-k8s.io/v1beta2").
Result<nlohmann::json> Convert(const nlohmann::json& object, std::string_view api_version);

// The limit on growth of the objects of one ConversionReview: v1beta2 writes a value that many
// domains of a topology assignment share once, v1beta1 for each domain.
struct ConversionBudget {
  std::size_t domains = 250'000;
  std::size_t bytes = 128 * 1024 * 1024;
};
Result<nlohmann::json> Convert(const nlohmann::json& object, std::string_view api_version,
                               ConversionBudget& budget);

// The answer to a ConversionReview; response.result has the error.
nlohmann::json AnswerConversion(const nlohmann::json& review);

}  // namespace berth::webhook
