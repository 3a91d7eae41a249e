#include "webhook/review.h"

#include <algorithm>
#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_write.h"
#include "api/codec/provisioning_policy.h"
#include "api/job_user.h"
#include "api/labels.h"
#include "base/strings.h"
#include "webhook/batch_job_rules.h"
#include "webhook/identity_rules.h"
#include "webhook/policy_rules.h"
#include "webhook/quota_rules.h"
#include "webhook/review_error.h"
#include "webhook/workload_rules.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;

struct Request {
  const Json& object;  // never null
  const Json& old;     // null on create
  const JobReviews& jobs;
  const ReviewGates& gates;
  const ReviewedKind* kind;  // set for the review of a job
  std::string user;          // that writes the object
};

// The changed object, or the reason for the denial.
using Mutation = Result<Json> (*)(const Request&);
using Validation = Result<FieldErrors> (*)(const Request&);

// Null: `parent` has no such member.
const Json& Member(const Json& parent, const char* key) {
  static const Json null;
  if (!parent.is_object()) return null;
  const auto found = parent.find(key);
  return found == parent.end() ? null : *found;
}

Result<api::ObjectMeta> MetaOf(const Json& object) { return api::Decode<api::ObjectMeta>(object); }

ReviewedKind::FactsOf FactsFor(const Request& request) {
  return [&request](const api::ObjectMeta& job) {
    JobFacts facts = request.jobs.facts(*request.kind, job);
    facts.elastic_jobs = request.gates.elastic_jobs;
    return facts;
  };
}

// An update: what was held stays held.
Result<Json> HoldAgain(const Request& request) {
  const ReviewedKind& kind = *request.kind;
  BERTH_TRY(const ReviewedJob job, kind.read(request.object));
  const JobFacts facts = FactsFor(request)(job.meta);
  Json changed = request.object;
  if (facts.kind_managed && facts.namespace_managed && !facts.ancestor_managed && !job.skipped &&
      IsQueuedJob(job.meta, facts)) {
    kind.hold_again(changed);
  }
  return changed;
}

Result<Json> MutateJobOfKind(const Request& request) {
  const ReviewedKind& kind = *request.kind;
  if (kind.mutate) return kind.mutate(request.object, FactsFor(request));
  if (kind.hold_again && !request.old.is_null()) return HoldAgain(request);
  BERTH_TRY(ReviewedJob job, kind.read(request.object));
  const api::StringMap labels = job.meta.labels;
  const bool suspended = job.suspended;
  const JobFacts facts = FactsFor(request)(job.meta);
  DefaultJob(facts, job);
  Json changed = request.object;
  if (job.meta.labels != labels) {
    for (const auto& [key, value] : job.meta.labels) changed["metadata"]["labels"][key] = value;
  }
  if (job.suspended != suspended) kind.suspend(changed);
  if (kind.defaults && facts.kind_managed) {
    kind.defaults(!job.skipped && IsQueuedJob(job.meta, facts), changed);
  }
  if (job.gated && kind.elastic && kind.gate) kind.gate(changed);
  return changed;
}

Result<Json> MutateJob(const Request& request) {
  BERTH_TRY(Json changed, MutateJobOfKind(request));
  if (!request.gates.record_users || !request.old.is_null() || request.user.empty()) return changed;
  BERTH_TRY(const api::ObjectMeta meta, MetaOf(changed));
  const JobFacts facts = FactsFor(request)(meta);
  if (facts.kind_managed && IsQueuedJob(meta, facts)) {
    changed["metadata"]["annotations"][api::kUserAnnotation] = request.user;
  }
  return changed;
}

// The user of a job is noted once. A write that replaces the object may leave the note out.
FieldErrors CheckUser(const Request& request) {
  if (!request.gates.record_users || request.old.is_null()) return {};
  const Result<api::ObjectMeta> now = MetaOf(request.object);
  const Result<api::ObjectMeta> before = MetaOf(request.old);
  if (!now || !before) return {};
  const std::string* user = api::FindValue(now->annotations, api::kUserAnnotation);
  const std::string* noted = api::FindValue(before->annotations, api::kUserAnnotation);
  if (user == nullptr || (noted != nullptr && *noted == *user)) return {};
  return {Invalid(Path("metadata").Child("annotations").Key(api::kUserAnnotation), Quoted(*user),
                  "the webhook sets it when the job is created")};
}

// The finalizer keeps the object until no workload holds its quota.
Result<Json> AddFinalizer(const Request& request) {
  const auto metadata = request.object.find("metadata");
  if (metadata != request.object.end() && !metadata->is_null() && !metadata->is_object()) {
    return Error{ErrorCode::kInvalid,
                 std::string("metadata: expected an object, got ") + metadata->type_name()};
  }
  Json changed = request.object;
  Json& finalizers = changed["metadata"]["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  if (std::find(finalizers.begin(), finalizers.end(), api::kResourceInUseFinalizer) ==
      finalizers.end()) {
    finalizers.push_back(api::kResourceInUseFinalizer);
  }
  return changed;
}

template <typename T, typename Fn>
Result<FieldErrors> WithOld(const Request& request, Fn validate) {
  BERTH_TRY(const T object, api::Decode<T>(request.object));
  const T* none = nullptr;
  if (request.old.is_null()) return validate(object, none);
  const Result<T> old = api::Decode<T>(request.old);
  // An old object that cannot be decoded must not block updates.
  return validate(object, old ? &*old : none);
}

// Without partial admission minCount has no effect and is removed.
Result<Json> MutateWorkload(const Request& request) {
  if (request.gates.partial_admission) return request.object;
  Json changed = request.object;
  const auto spec = changed.find("spec");
  if (spec == changed.end() || !spec->is_object()) return changed;
  const auto pod_sets = spec->find("podSets");
  if (pod_sets == spec->end() || !pod_sets->is_array()) return changed;
  for (Json& pods : *pod_sets) {
    if (pods.is_object()) pods.erase("minCount");
  }
  return changed;
}

Result<FieldErrors> CheckJobOfKind(const Request& request) {
  const ReviewedKind& kind = *request.kind;
  if (kind.validate) return kind.validate(request.object, request.old, FactsFor(request));
  BERTH_TRY(const ReviewedJob job, kind.read(request.object));
  const JobFacts facts = FactsFor(request)(job.meta);
  if (!facts.kind_managed) return FieldErrors{};
  const FieldErrors own = kind.own && IsQueuedJob(job.meta, facts)
                              ? kind.own(request.object, request.old)
                              : FieldErrors{};
  if (job.skipped) return own;
  if (request.old.is_null()) return ValidateJob(job, nullptr, kind, facts, own);
  BERTH_TRY(const ReviewedJob old, kind.read(request.old));
  if (!IsQueuedJob(job.meta, facts) && !IsManagedJob(old.meta)) return FieldErrors{};
  return ValidateJob(job, &old, kind, facts, own);
}

Result<FieldErrors> CheckJob(const Request& request) {
  BERTH_TRY(FieldErrors errors, CheckJobOfKind(request));
  const FieldErrors of_user = CheckUser(request);
  errors.insert(errors.end(), of_user.begin(), of_user.end());
  return errors;
}

std::vector<std::string> WarnOfJob(const Request& request) {
  if (request.kind->warn) return request.kind->warn(request.object, FactsFor(request));
  const Result<api::ObjectMeta> job = api::Decode<api::ObjectMeta>(request.object);
  return job ? WarningsOfJob(*job, request.gates.elastic_jobs) : std::vector<std::string>{};
}

Result<FieldErrors> CheckClusterQueue(const Request& request) {
  return WithOld<api::ClusterQueue>(request, ValidateClusterQueue);
}
Result<FieldErrors> CheckResourceFlavor(const Request& request) {
  return WithOld<api::ResourceFlavor>(request, ValidateResourceFlavor);
}
// MultiKueue's manager nominates clusters before one of them gets the Workload. A slice goes to
// the cluster of the slice that it replaces.
FieldErrors CheckClusterName(const Request& request) {
  if (request.old.is_null()) return {};
  const Json& now = Member(Member(request.object, "status"), "clusterName");
  const Json& before = Member(request.old, "status");
  if (!now.is_string() || now == Member(before, "clusterName")) return {};
  const Result<api::ObjectMeta> meta = MetaOf(request.object);
  if (meta && meta->annotations.contains(api::kSliceReplacementForAnnotation)) return {};
  const Json& names = Member(before, "nominatedClusterNames");
  if (names.is_array() && std::find(names.begin(), names.end(), now) != names.end()) return {};
  return {Invalid(Path("status.clusterName"), Quoted(now.get<std::string>()),
                  "when setting clusterName it must be one of the nominatedClusterNames")};
}

Result<FieldErrors> CheckWorkload(const Request& request) {
  return WithOld<api::Workload>(
      request, [&request](const api::Workload& workload, const api::Workload* old) {
        FieldErrors errors = ValidateWorkload(workload, old, request.gates);
        for (std::string& error : CheckClusterName(request)) errors.push_back(std::move(error));
        return errors;
      });
}
Result<FieldErrors> CheckLocalQueue(const Request& request) {
  return WithOld<api::LocalQueue>(request, ValidateLocalQueue);
}
Result<FieldErrors> CheckAdmissionCheck(const Request& request) {
  return WithOld<api::AdmissionCheck>(request, ValidateAdmissionCheck);
}
Result<FieldErrors> CheckTopology(const Request& request) {
  return WithOld<api::Topology>(request, ValidateTopology);
}
Result<FieldErrors> CheckCohort(const Request& request) {
  BERTH_TRY(const api::Cohort cohort, api::Decode<api::Cohort>(request.object));
  return ValidateCohort(cohort);
}

Result<FieldErrors> CheckPolicy(const Request& request) {
  const KnownZones known = request.jobs.zones ? request.jobs.zones() : KnownZones{};
  return WithOld<api::ProvisioningPolicy>(
      request, [&known](const api::ProvisioningPolicy& policy, const api::ProvisioningPolicy* old) {
        return ValidateProvisioningPolicy(policy, old, known);
      });
}

struct Route {
  std::string_view path;
  Mutation mutate = nullptr;
  Validation validate = nullptr;
  std::vector<std::string> (*warn)(const Request& request) = nullptr;  // on create
};

constexpr std::array kRoutes{
    Route{"/mutate-batch-v1-job", MutateJob},
    Route{"/mutate-kueue-x-k8s-io-v1beta2-clusterqueue", AddFinalizer},
    Route{"/mutate-kueue-x-k8s-io-v1beta2-resourceflavor", AddFinalizer},
    Route{"/mutate-kueue-x-k8s-io-v1beta2-workload", MutateWorkload},
    Route{"/validate-batch-v1-job", nullptr, CheckJob, WarnOfJob},
    Route{"/validate-kueue-x-k8s-io-v1beta2-admissioncheck", nullptr, CheckAdmissionCheck},
    Route{"/validate-kueue-x-k8s-io-v1beta2-clusterqueue", nullptr, CheckClusterQueue},
    Route{"/validate-kueue-x-k8s-io-v1beta2-cohort", nullptr, CheckCohort},
    Route{"/validate-kueue-x-k8s-io-v1beta2-localqueue", nullptr, CheckLocalQueue},
    Route{"/validate-kueue-x-k8s-io-v1beta2-resourceflavor", nullptr, CheckResourceFlavor},
    Route{"/validate-kueue-x-k8s-io-v1beta2-topology", nullptr, CheckTopology},
    Route{"/validate-kueue-x-k8s-io-v1beta2-workload", nullptr, CheckWorkload},
    Route{"/validate-provisioning-berth-dev-v1alpha1-provisioningpolicy", nullptr, CheckPolicy},
};

// Kinds that Kueue reviews, and Dask's, at /mutate-KIND and /validate-KIND, and that may not be
// managed: every write of them is allowed then.
constexpr std::array<std::string_view, 20> kLeftAlone{
    "-v1-pod",
    "apps-v1-deployment",
    "apps-v1-statefulset",
    "jobset-x-k8s-io-v1alpha2-jobset",
    "kubeflow-org-v1-jaxjob",
    "kubeflow-org-v1-paddlejob",
    "kubeflow-org-v1-pytorchjob",
    "kubeflow-org-v1-tfjob",
    "kubeflow-org-v1-xgboostjob",
    "kubeflow-org-v2beta1-mpijob",
    "kubernetes-dask-org-v1-daskcluster",
    "kubernetes-dask-org-v1-daskjob",
    "leaderworkerset-x-k8s-io-v1-leaderworkerset",
    "ray-io-v1-raycluster",
    "ray-io-v1-rayjob",
    "ray-io-v1-rayservice",
    "sparkoperator-k8s-io-v1beta2-sparkapplication",
    "trainer-kubeflow-org-v1alpha1-trainjob",
    "trainer-kubeflow-org-v2alpha1-trainjob",
    "workload-codeflare-dev-v1beta2-appwrapper"};
constexpr Route kAllowAll{};
constexpr Route kMutateJob{"", MutateJob};
constexpr Route kValidateJob{"", nullptr, CheckJob, WarnOfJob};

struct Found {
  const Route* route = nullptr;  // null: no webhook
  const ReviewedKind* kind = nullptr;
  std::shared_ptr<const ReviewedKind> declared;  // keeps `kind`
};

Found RouteOf(std::string_view path, const JobReviews& jobs) {
  const auto known = std::find_if(kRoutes.begin(), kRoutes.end(),
                                  [path](const Route& route) { return route.path == path; });
  if (known != kRoutes.end()) return {&*known, &BatchJobKind()};
  for (const auto& [prefix, route] :
       {std::pair<std::string_view, const Route*>{"/mutate-", &kMutateJob},
        std::pair<std::string_view, const Route*>{"/validate-", &kValidateJob}}) {
    if (!path.starts_with(prefix)) continue;
    const std::string_view name = path.substr(prefix.size());
    const auto kind = std::find_if(jobs.kinds.begin(), jobs.kinds.end(),
                                   [name](const ReviewedKind& each) { return each.path == name; });
    if (kind != jobs.kinds.end()) return {route, &*kind};
    if (std::find(kLeftAlone.begin(), kLeftAlone.end(), name) != kLeftAlone.end()) {
      return {&kAllowAll};
    }
    if (!jobs.declared) continue;
    if (auto declared = jobs.declared(name)) return {route, declared.get(), declared};
  }
  return {};
}

Json Refusal(int code, const char* reason, const std::string& message) {
  return {{"allowed", false},
          {"status",
           {{"code", code}, {"reason", reason}, {"message", message}, {"status", "Failure"}}}};
}

Json Allowed(const Json& before, const Json& after) {
  Json response = {{"allowed", true}};
  const Json patch = Json::diff(before, after);
  if (!patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = Base64Encode(api::FormatJson(patch));
  }
  return response;
}

Json Answer(const Route& route, const Request& request) {
  if (route.mutate != nullptr) {
    const Result<Json> changed = route.mutate(request);
    if (!changed) return Refusal(400, "BadRequest", changed.error().message);
    return Allowed(request.object, *changed);
  }
  if (route.validate == nullptr) return {{"allowed", true}};
  const Result<FieldErrors> errors = route.validate(request);
  if (!errors) return Refusal(400, "BadRequest", errors.error().message);
  if (!errors->empty()) return Refusal(403, "Forbidden", Aggregate(*errors));
  Json response = {{"allowed", true}};
  if (route.warn != nullptr && request.old.is_null()) {
    const std::vector<std::string> warnings = route.warn(request);
    if (!warnings.empty()) response["warnings"] = warnings;
  }
  return response;
}

}  // namespace

bool IsReviewPath(std::string_view path, const JobReviews& jobs) {
  return RouteOf(path, jobs).route != nullptr;
}

std::vector<std::string_view> ReviewPaths() {
  std::vector<std::string_view> paths;
  for (const Route& route : kRoutes) paths.push_back(route.path);
  return paths;
}

Result<Json> Review(std::string_view path, const Json& review, const JobReviews& jobs,
                    const ReviewGates& gates) {
  const auto [route, kind, declared] = RouteOf(path, jobs);
  if (route == nullptr) return Error{ErrorCode::kNotFound, "no webhook at " + std::string(path)};
  const Json& request = Member(review, "request");
  const Json& uid = Member(request, "uid");
  if (!uid.is_string()) return Error{ErrorCode::kInvalid, "not an AdmissionReview: no request.uid"};
  const Json& object = Member(request, "object");
  const Json& user = Member(Member(request, "userInfo"), "username");
  Json response = {{"allowed", true}};  // DELETE, CONNECT: always allowed
  if (object.is_object()) {
    response = Answer(*route, {object, Member(request, "oldObject"), jobs, gates, kind,
                               user.is_string() ? user.get<std::string>() : ""});
  }
  response["uid"] = uid;
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"response", std::move(response)}};
}

}  // namespace berth::webhook
