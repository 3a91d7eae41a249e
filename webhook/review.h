// webhook/review.h — answers an AdmissionReview v1.
//
//     POST <path>, AdmissionReview ─Review─▶ allowed with a JSON patch, or denied with a reason
//
// The paths are Kueue's (kueue-mutating-webhook-configuration, kueue-validating-webhook-…):
//     /mutate-batch-v1-job                             /validate-batch-v1-job
//     /mutate-KIND, /validate-KIND of each managed kind, KIND as ReviewedKind::path
//     /mutate-kueue-x-k8s-io-v1beta2-clusterqueue /validate-kueue-x-k8s-io-v1beta2-clusterqueue
//     /mutate-kueue-x-k8s-io-v1beta2-resourceflavor    /validate-…-resourceflavor
//     /mutate-kueue-x-k8s-io-v1beta2-workload          /validate-…-workload
//                                                      /validate-…-cohort
// Kueue's other paths are of kinds that are not managed: every write of them is allowed.
// Berth's own paths, for rules that the CRDs have in CEL: /validate-…-admissioncheck, -localqueue,
// -topology; and for a rule about other objects:
//     /validate-provisioning-berth-dev-v1alpha1-provisioningpolicy
//
// Threads: pure function; calls `facts` inside. Errors: an object that cannot be decoded is denied
// with the reason; a document that is no review is kInvalid.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "webhook/job_rules.h"
#include "webhook/policy_rules.h"
#include "webhook/workload_rules.h"

namespace berth::webhook {

using JobFactsOf = std::function<JobFacts(const ReviewedKind& kind, const api::ObjectMeta& job)>;

// The facts that reviews use beside the object. The functions must be fast and thread-safe.
struct JobReviews {
  JobFactsOf facts;
  std::vector<ReviewedKind> kinds;  // beside batch/v1 Job
  // The kind that a user has declared, by ReviewedKind::path; null: there is none, or the function
  // is null.
  std::function<std::shared_ptr<const ReviewedKind>(std::string_view path)> declared;
  std::function<KnownZones()> zones;  // the zones of machines; null: nothing is known
};

bool IsReviewPath(std::string_view path, const JobReviews& jobs);
// The paths of Berth's own rules, without paths that allow every write.
std::vector<std::string_view> ReviewPaths();

Result<nlohmann::json> Review(std::string_view path, const nlohmann::json& review,
                              const JobReviews& jobs, const ReviewGates& gates = {});

}  // namespace berth::webhook
