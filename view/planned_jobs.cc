#include "view/planned_jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "integrations/batch_job.h"
#include "integrations/declared_kind.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"
#include "integrations/pods/pod_group.h"
#include "integrations/priority.h"
#include "integrations/workload_build.h"
#include "view/manifest_places.h"
#include "view/screens/json_at.h"
#include "webhook/job_rules.h"

namespace berth::view {
namespace {

using integrations::JobView;
using integrations::KindPtr;
using simulation::LintFinding;
using simulation::LintSeverity;
using Json = nlohmann::json;

constexpr char kPriorityClassKind[] = "WorkloadPriorityClass";
constexpr char kDefaultName[] = "default";  // the LocalQueue or class of jobs that name none

Json ObjectIn(const Json& document, const char* pointer) {
  const Json::json_pointer path(pointer);
  const bool found = document.contains(path) && document.at(path).is_object();
  return found ? document.at(path) : Json::object();
}

std::string GroupIn(const Json& document) {
  const std::string version = TextAt(document, "/apiVersion");
  const std::size_t slash = version.find('/');
  return slash == std::string::npos ? "" : version.substr(0, slash);
}

// A Job without labels has those of its pod template, by the API server's defaults.
void DefaultLabels(Json& job) {
  if (!ObjectIn(job, "/metadata/labels").empty()) return;
  const Json labels = ObjectIn(job, "/spec/template/metadata/labels");
  if (!labels.empty()) job["metadata"]["labels"] = labels;
}

// A Job that the CronJob makes.
Json JobOfCronJob(const Json& cron_job) {
  Json job = ObjectIn(cron_job, "/spec/jobTemplate");
  job["apiVersion"] = "batch/v1";
  job["kind"] = "Job";
  if (!job["metadata"].is_object()) job["metadata"] = Json::object();
  job["metadata"]["name"] = TextAt(cron_job, "/metadata/name");
  job["metadata"]["namespace"] = TextAt(cron_job, "/metadata/namespace");
  return job;
}

// Pods of an object that come from one template.
struct Part {
  Json pod_template;
  std::int64_t count = 1;
};

// Kinds of Kubernetes that are no job kinds: their pods may be queued.
bool IsPodMaker(const Json& document) {
  const std::string version = TextAt(document, "/apiVersion");
  const std::string kind = TextAt(document, "/kind");
  return (version == "apps/v1" && kind == "ReplicaSet") ||
         (version == "v1" && kind == "ReplicationController");
}

class Planner {
 public:
  Planner(const std::vector<Json>& documents, const PlannedJobsInput& input)
      : documents_(documents), input_(input) {
    if (input.priority_classes == nullptr) return;
    for (const api::PriorityClass& each : *input.priority_classes) {
      classes_[each.meta.name] = each;
    }
  }

  PlannedJobs Run() {
    for (const Json& document : documents_) ReadDeclaredKind(document);
    for (const Json& document : documents_) {
      if (document.is_object()) Read(document);
    }
    for (const auto& [key, group] : groups_) AddGroup(group);
    return std::move(made_);
  }

 private:
  // The object that a problem is about, and the framework that queues it.
  struct Subject {
    std::string kind;
    std::string name;
    std::string framework;
  };

  void Report(LintSeverity severity, const char* rule, const Subject& subject,
              std::vector<std::string> field, std::string message) {
    made_.problems.push_back(
        {severity, rule, subject.kind, subject.name, std::move(field), std::move(message)});
  }
  void ReportUnreadable(const Subject& subject, const std::string& message) {
    Report(LintSeverity::kError, "not-readable", subject,
           FieldInMessage(subject.kind + " " + subject.name + ": " + message), message);
  }

  void ReadDeclaredKind(const Json& document) {
    if (!document.is_object() || TextAt(document, "/kind") != "JobKind") return;
    auto kind = integrations::ParseJobKind(document);
    if (kind) return declared_.push_back(*std::move(kind));
    ReportUnreadable({"JobKind", TextAt(document, "/metadata/name"), ""}, kind.error().message);
  }

  KindPtr KindOf(const Json& document) const {
    const std::string api_version = TextAt(document, "/apiVersion");
    const std::string kind = TextAt(document, "/kind");
    for (const auto* kinds : {&integrations::BuiltInKinds(), &declared_}) {
      for (const KindPtr& each : *kinds) {
        if (each->resource.api_version() == api_version && each->kind.kind == kind) return each;
      }
    }
    return nullptr;
  }

  void Read(const Json& document) {
    const std::string api_version = TextAt(document, "/apiVersion");
    Subject subject{TextAt(document, "/kind"), TextAt(document, "/metadata/name"), ""};
    if (api_version == "batch/v1" && (subject.kind == "Job" || subject.kind == "CronJob")) {
      subject.framework = integrations::kBatchJob.framework;
      return ReadBatch(document, subject);
    }
    if (api_version == "v1" && subject.kind == "Pod") {
      subject.framework = integrations::kPod.framework;
      return ReadPod(document, subject);
    }
    if (IsPodMaker(document)) return (void)AddPodsAlone(document, subject, PartsOf(document));
    const KindPtr kind = KindOf(document);
    if (kind == nullptr) return;
    subject.framework = kind->kind.framework;
    if (kind->pods && kind->pods->each_alone) return ReadPodsAlone(document, subject);
    ReadDescribed(document, kind, subject);
  }

  static std::vector<Part> PartsOf(const Json& document) {
    return {{ObjectIn(document, "/spec/template"), WholeAt(document, "/spec/replicas", 1)}};
  }

  void ReadBatch(const Json& document, const Subject& subject) {
    const bool repeats = subject.kind == "CronJob";
    Json object = repeats ? JobOfCronJob(document) : document;
    DefaultLabels(object);
    const auto job = api::Decode<api::Job>(object);
    if (!job) {
      const std::string& message = job.error().message;
      const bool inside = repeats && message.starts_with("spec");
      return ReportUnreadable(subject, (inside ? "spec.jobTemplate." : "") + message);
    }
    JobView view = integrations::ViewOf(*job);
    if (repeats && integrations::QueueNameOf(view).empty() && NamesQueue(document)) {
      Report(LintSeverity::kWarning, "queue-not-used", subject, {"metadata", "labels"},
             "the queue's label of a CronJob has no effect: set it in "
             "spec.jobTemplate.metadata.labels, of which its Jobs are made");
    }
    Default(view);
    if (!IsQueued(view) &&
        AddPodsAlone(document, subject,
                     {{ObjectIn(object, "/spec/template"),
                       view.pod_sets.empty() ? 1 : view.pod_sets.front().count}})) {
      return;
    }
    Add(subject, std::move(view), 1, job->active_deadline_seconds);
  }

  void ReadDescribed(const Json& document, const KindPtr& kind, const Subject& subject) {
    const auto reads = ReadsOf(document, *kind);
    auto made = integrations::ViewOf(kind, document, reads);
    if (!made) return ReportUnreadable(subject, made.error().message);
    JobView view = *std::move(made);
    if (view.skipped || view.is_delegated) return;
    Default(view);
    if (view.problem.empty() && !IsQueued(view)) {
      const auto pod_sets = integrations::PodSetsOf(*kind, document, reads);
      std::vector<Part> parts;
      const std::int64_t groups = view.pod_parent ? view.pod_parent->groups : 1;
      for (std::size_t i = 0; pod_sets && i < pod_sets->size(); ++i) {
        parts.push_back({ObjectIn(document, (*pod_sets)[i].pointer.c_str()),
                         (*pod_sets)[i].pods.count * groups});
      }
      if (AddPodsAlone(document, subject, parts)) return;
    }
    if (!view.problem.empty() && !IsQueued(view)) return;  // no controller reads its pods
    if (view.lacks_object) {
      return Report(LintSeverity::kError, "unknown-runtime", subject, {"spec", "runtimeRef"},
                    LackOf(document, *kind, view.problem));
    }
    if (!view.problem.empty()) return ReportUnreadable(subject, view.problem);
    const std::int64_t groups = view.pod_parent ? view.pod_parent->groups : 1;
    Add(subject, std::move(view), groups, std::nullopt);
  }

  std::string LackOf(const Json& document, const integrations::KindDescription& kind,
                     const std::string& problem) const {
    const std::vector<std::string> names = integrations::NamesToRead(kind, document);
    for (std::size_t i = 0; i < names.size() && i < kind.reads.size(); ++i) {
      if (names[i].empty()) continue;
      return kind.reads[i].names->kind + " " + names[i] + " " + input_.absent +
             ": the pods of the job are not known without it";
    }
    return problem;
  }

  integrations::ReadObjects ReadsOf(const Json& document,
                                    const integrations::KindDescription& kind) const {
    integrations::ReadObjects reads;
    if (kind.reads.empty()) return reads;
    const std::vector<std::string> names = integrations::NamesToRead(kind, document);
    for (std::size_t i = 0; i < names.size() && i < kind.reads.size(); ++i) {
      reads.push_back(names[i].empty() ? nullptr
                                       : FindObject(kind.reads[i], SpaceOf(document), names[i]));
    }
    return reads;
  }

  std::shared_ptr<const Json> FindObject(const integrations::ReadRule& rule,
                                         const std::string& space, const std::string& name) const {
    for (const Json& each : documents_) {
      if (!each.is_object() || TextAt(each, "/kind") != rule.names->kind) continue;
      if (GroupIn(each) != rule.names->group || TextAt(each, "/metadata/name") != name) continue;
      if (rule.resource.namespaced && SpaceOf(each) != space) continue;
      return std::make_shared<const Json>(each);
    }
    return input_.find ? input_.find(rule, space, name) : nullptr;
  }

  std::string SpaceOf(const Json& document) const {
    const std::string space = TextAt(document, "/metadata/namespace");
    return space.empty() ? input_.namespace_name : space;
  }

  // What the reviews of every kind fill in.
  void Default(JobView& view) const {
    std::string& space = view.meta.namespace_name;
    if (space.empty()) space = input_.namespace_name;
    if (!input_.queue.empty()) view.meta.labels[api::kQueueLabel] = input_.queue;
    webhook::JobFacts facts;
    for (std::size_t i = 0; input_.local_queues != nullptr && i < input_.local_queues->size();
         ++i) {
      const api::ObjectMeta& meta = (*input_.local_queues)[i].meta;
      facts.default_local_queue =
          facts.default_local_queue || (meta.name == kDefaultName && meta.namespace_name == space);
    }
    facts.default_priority_class = classes_.contains(kDefaultName);
    webhook::ReviewedJob job{.meta = view.meta};
    webhook::DefaultJob(facts, job);
    view.meta.labels = std::move(job.meta.labels);
  }

  static bool IsQueued(const JobView& view) { return webhook::IsManagedJob(view.meta); }
  static bool NamesQueue(const Json& object) {
    const Json labels = ObjectIn(object, "/metadata/labels");
    return labels.contains(api::kQueueLabel);
  }

  // The pods of a Deployment have its queue and priority class.
  void ReadPodsAlone(const Json& document, const Subject& subject) {
    auto meta = api::Decode<api::ObjectMeta>(document);
    if (!meta) return ReportUnreadable(subject, meta.error().message);
    JobView object;
    object.meta = *std::move(meta);
    Default(object);
    for (Part& part : PartsOf(document)) {
      Json& labels = part.pod_template["metadata"]["labels"];
      if (!labels.is_object()) labels = Json::object();
      for (const char* key : {api::kQueueLabel, api::kPriorityClassLabel}) {
        const std::string* value = api::FindValue(object.meta.labels, key);
        if (value != nullptr && !value->empty()) labels[key] = *value;
      }
      AddPods(document, subject, part);
    }
  }

  // The pods of an object that is not queued, where their templates name a queue. False: none does.
  bool AddPodsAlone(const Json& document, const Subject& subject, const std::vector<Part>& parts) {
    bool added = false;
    for (const Part& part : parts) {
      if (!NamesQueue(part.pod_template)) continue;
      AddPods(document, {subject.kind, subject.name, std::string(integrations::kPod.framework)},
              part);
      added = true;
    }
    return added;
  }

  void AddPods(const Json& document, const Subject& subject, const Part& part) {
    Json pod = part.pod_template;
    if (!pod["metadata"].is_object()) pod["metadata"] = Json::object();
    pod["metadata"]["name"] = subject.name;
    pod["metadata"]["namespace"] = SpaceOf(document);
    const auto decoded = integrations::DecodeQueuedPod(pod);
    if (!decoded) return ReportUnreadable(subject, "spec.template." + decoded.error().message);
    JobView view = integrations::ViewOfPod(*decoded);
    Default(view);
    Add(subject, std::move(view), part.count, std::nullopt);
  }

  void ReadPod(const Json& document, const Subject& subject) {
    auto decoded = integrations::DecodeQueuedPod(document);
    if (!decoded) return ReportUnreadable(subject, decoded.error().message);
    const std::string group = integrations::PodGroupOf(decoded->meta);
    if (group.empty()) {
      JobView view = integrations::ViewOfPod(*decoded);
      Default(view);
      return Add(subject, std::move(view), 1, std::nullopt);
    }
    Group& known = groups_[{SpaceOf(document), group}];
    if (known.pods.pods.empty()) known.subject = subject;
    known.pods.group = group;
    known.pods.pods.push_back(std::make_shared<const integrations::QueuedPod>(*std::move(decoded)));
  }

  struct Group {
    integrations::PodsOfJob pods;
    Subject subject;  // the subject of the first pod
  };

  void AddGroup(const Group& group) {
    const integrations::GroupComposition composed = integrations::ComposeGroup(group.pods, {});
    if (!composed.problem.empty()) {
      return ReportUnreadable(group.subject, "the pods of group " + group.pods.group +
                                                 " make no Workload, " + composed.problem);
    }
    JobView view = integrations::ViewOfGroup(group.pods, composed.members, {});
    view.pod_sets = composed.pod_sets;
    Default(view);
    Add(group.subject, std::move(view), 1, std::nullopt);
  }

  // Priority classes of pods are not read: jobs without a WorkloadPriorityClass have priority 0.
  integrations::JobPriority PriorityIn(const JobView& view, const Subject& subject) {
    if (input_.priority_classes == nullptr) return {};
    const auto priority = integrations::PriorityOf(view, classes_, {});
    if (priority) return *priority;
    const std::string* name = api::FindValue(view.meta.labels, api::kPriorityClassLabel);
    if (name == nullptr || name->empty()) return {};
    Report(LintSeverity::kError, "unknown-priority", subject,
           {"metadata", "labels", api::kPriorityClassLabel},
           std::string(kPriorityClassKind) + " " + *name + " " + input_.absent +
               ": no Workload is made for the job without it");
    return {};
  }

  void Add(const Subject& subject, JobView view, std::int64_t copies,
           std::optional<std::int64_t> deadline) {
    if (!view.problem.empty()) return ReportUnreadable(subject, view.problem);
    if (IsQueued(view) && !IsManaged(subject.framework)) {
      return Report(LintSeverity::kWarning, "kind-not-queued", subject, {"kind"},
                    "integrations.frameworks of the Configuration lacks \"" + subject.framework +
                        "\": the object runs without a queue");
    }
    PlannedJob job{
        .kind = subject.kind, .name = subject.name, .deadline = deadline, .copies = copies};
    const integrations::JobPriority priority =
        IsQueued(view) ? PriorityIn(view, subject) : integrations::JobPriority{};
    job.workload = integrations::BuildWorkload(view, priority, {});
    made_.jobs.push_back(std::move(job));
  }

  bool IsManaged(const std::string& framework) const {
    if (input_.frameworks == nullptr) return true;
    const auto& names = *input_.frameworks;
    if (std::find(names.begin(), names.end(), framework) != names.end()) return true;
    return std::any_of(declared_.begin(), declared_.end(), [&framework](const KindPtr& each) {
      return each->kind.framework == framework;
    });
  }

  const std::vector<Json>& documents_;
  const PlannedJobsInput& input_;
  integrations::PriorityClassesByName classes_;
  std::vector<KindPtr> declared_;                                // by JobKinds among the documents
  std::map<std::pair<std::string, std::string>, Group> groups_;  // namespace, name
  PlannedJobs made_;
};

}  // namespace

std::string ProblemText(const LintFinding& problem) {
  return problem.kind + " " + problem.name + ": " + problem.message;
}

PlannedJobs PlanJobsOf(const std::vector<Json>& documents, const PlannedJobsInput& input) {
  return Planner(documents, input).Run();
}

Result<std::vector<PlannedJob>> PlannedJobsOf(const std::vector<Json>& documents,
                                              const PlannedJobsInput& input) {
  PlannedJobs planned = PlanJobsOf(documents, input);
  for (const LintFinding& each : planned.problems) {
    if (each.severity != LintSeverity::kError) continue;
    const bool is_absent = each.rule.starts_with("unknown-");
    return Error{is_absent ? ErrorCode::kNotFound : ErrorCode::kInvalid, ProblemText(each)};
  }
  return std::move(planned.jobs);
}

}  // namespace berth::view
