#include "integrations/controller/described_jobs.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "integrations/controller/object_tree.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kReadsIndex[] = "reads";
constexpr char kQueueingPrefix[] = "kueue.x-k8s.io/";
constexpr char kLastApplied[] = "kubectl.kubernetes.io/last-applied-configuration";

Result<Json> WithoutManagedFields(const api::JsonSource& source) {
  BERTH_TRY(Json object, TreeOf(source));
  if (const auto metadata = object.find("metadata");
      metadata != object.end() && metadata->is_object()) {
    metadata->erase("managedFields");
  }
  return object;
}

// Keeps what says who queues the object; its pods have the rest.
void KeepWhatQueues(api::ObjectMeta& meta) {
  const auto other = [](const auto& entry) { return !entry.first.starts_with(kQueueingPrefix); };
  std::erase_if(meta.labels, other);
  std::erase_if(meta.annotations, other);
  meta.finalizers.clear();
}

// Key of the index that finds the jobs whose description reads `object` through rule number `rule`.
std::string ReadsValue(std::size_t rule, const api::ObjectKey& object) {
  return std::to_string(rule) + ":" + object.ToString();
}

class DescribedJobState final : public JobState {
 public:
  DescribedJobState(std::shared_ptr<const DescribedJob> job, ReadObjects reads)
      : job_(std::move(job)), reads_(std::move(reads)) {}

  const api::ObjectMeta& meta() const override { return job_->meta; }
  JobView View() const override { return *job_; }
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    const Json before = Object();
    const Result<std::vector<Json>> states = Started(*job_->description, before, changes, reads_);
    return states ? Differences(before, *states) : std::vector<JobWrite>{};
  }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    const Json before = Object();
    return Differences(before, Stopped(*job_->description, before, originals, job_->active));
  }

 private:
  Json Object() const { return job_->text == nullptr ? Json() : api::ParseJsonOrNull(*job_->text); }

  // One write for each state that differs from the one before it.
  static std::vector<JobWrite> Differences(const Json& before, const std::vector<Json>& states) {
    std::vector<JobWrite> writes;
    const Json* last = &before;
    for (const Json& state : states) {
      Json patch = Json::diff(*last, state);
      last = &state;
      if (patch.empty()) continue;
      writes.push_back({.type = kube::PatchType::kJson,
                        .patch = std::make_shared<const Json>(std::move(patch))});
    }
    return writes;
  }

  std::shared_ptr<const DescribedJob> job_;
  ReadObjects reads_;
};

}  // namespace

Result<ReadObject> DecodeReadObject(const api::JsonSource& source) {
  BERTH_TRY(Json object, WithoutManagedFields(source));
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  return ReadObject{std::move(meta), std::make_shared<const Json>(std::move(object))};
}

KindPtr JobKindOf(const ReadRule& rule) {
  for (const KindPtr& kind : BuiltInKinds()) {
    if (kind->resource.group == rule.resource.group && kind->resource.kind == rule.resource.kind) {
      return kind;
    }
  }
  return nullptr;
}

Result<DescribedJob> DecodeDescribedJob(const KindPtr& kind, const api::JsonSource& source) {
  BERTH_TRY(const Json object, WithoutManagedFields(source));
  BERTH_TRY(JobView view, ViewOf(kind, object));
  DescribedJob job{{std::move(view)}, kind, nullptr, NamesToRead(*kind, object)};
  job.meta.annotations.erase(kLastApplied);
  if (!kind->pods) job.text = std::make_shared<const std::string>(api::FormatJson(object));
  if (kind->pods && kind->pods->each_alone) KeepWhatQueues(job.meta);
  return job;
}

DescribedJobs::DescribedJobs(kube::Manager& manager, KindPtr description)
    : InformedJobs<DescribedJob>(manager.OptionalInformerFor<DescribedJob>(
          description->resource,
          [description](const api::JsonSource& object) {
            return DecodeDescribedJob(description, object);
          })),
      first_(description),
      description_(std::move(description)) {
  if (first_->hold) held_.emplace(manager, first_);
  WatchReads(manager);
}

std::shared_ptr<const Json> DescribedJobs::ReadSource::Find(const api::ObjectKey& key) const {
  if (objects != nullptr) {
    const auto found = objects->Get(key);
    return found == nullptr ? nullptr : found->json;
  }
  const auto job = jobs->Get(key);
  if (job == nullptr || job->text == nullptr) {
    read.erase(key);
    return nullptr;
  }
  auto& [from, json] = read[key];
  if (from != job) json = std::make_shared<const Json>(api::ParseJsonOrNull(*job->text));
  from = job;
  return json;
}

void DescribedJobs::ReadSource::OnChange(
    const std::function<void(const api::ObjectKey& key)>& tell) const {
  const auto changed = [tell](const auto& object) { tell(object->meta.key()); };
  const auto updated = [tell](const auto&, const auto& now) { tell(now->meta.key()); };
  if (objects != nullptr) {
    objects->AddHandler({.on_add = changed, .on_update = updated, .on_delete = changed});
  } else {
    jobs->AddHandler({.on_add = changed, .on_update = updated, .on_delete = changed});
  }
}

void DescribedJobs::WatchReads(kube::Manager& manager) {
  for (const ReadRule& rule : first_->reads) {
    ReadSource source;
    if (const KindPtr kind = JobKindOf(rule)) {
      source.jobs = &manager.OptionalInformerFor<DescribedJob>(
          kind->resource,
          [kind](const api::JsonSource& object) { return DecodeDescribedJob(kind, object); });
    } else {
      source.objects = &manager.OptionalInformerFor<ReadObject>(rule.resource, DecodeReadObject);
    }
    reads_.push_back(std::move(source));
  }
  jobs().AddHandler({.on_delete = [this](const auto& job) { read_.erase(job->meta.key()); }});
  if (reads_.empty()) return;
  jobs().AddIndex(kReadsIndex, [kind = first_](const DescribedJob& job) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < job.reads.size() && i < kind->reads.size(); ++i) {
      const bool namespaced = kind->reads[i].resource.namespaced;
      if (job.reads[i].empty()) continue;
      values.push_back(
          ReadsValue(i, {namespaced ? job.meta.namespace_name : std::string(), job.reads[i]}));
    }
    return values;
  });
}

ReadObjects DescribedJobs::ReadsOf(const DescribedJob& job) const {
  ReadObjects objects(reads_.size());
  for (std::size_t i = 0; i < reads_.size() && i < job.reads.size(); ++i) {
    const bool namespaced = first_->reads[i].resource.namespaced;
    objects[i] =
        reads_[i].Find({namespaced ? job.meta.namespace_name : std::string(), job.reads[i]});
  }
  return objects;
}

void DescribedJobs::AddHandler(Handler handler) {
  if (held_) {
    held_->OnChange([this, on_change = handler.on_change](const api::ObjectKey& key) {
      const auto job = jobs().Get(key);
      if (job != nullptr && on_change) on_change(job->meta);
    });
  }
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    reads_[i].OnChange([this, i, on_change = handler.on_change](const api::ObjectKey& key) {
      if (!on_change) return;
      for (const auto& job : jobs().ByIndex(kReadsIndex, ReadsValue(i, key))) {
        on_change(job->meta);
      }
    });
  }
  InformedJobs<DescribedJob>::AddHandler(std::move(handler));
}

// The answer to a write to the job, to one of its pods, or to an object that sizes it, whose own
// informer sees it soon.
void DescribedJobs::Ingest(const kube::Json& written) {
  const std::string kind = held_ ? written.value("kind", "") : "";
  if (held_ && kind == api::KindOf<api::Pod>().kind) return held_->Ingest(written);
  if (!held_ || kind == first_->kind.kind) InformedJobs<DescribedJob>::Ingest(written);
}

const api::ResourceKind& DescribedJobs::pod_resource() const {
  return held_ ? api::KindOf<api::Pod>() : resource();
}

bool DescribedJobs::Holds(const QueuedPod& pod) const {
  const api::ObjectKey key = held_ ? held_->JobOf(pod) : api::ObjectKey{};
  const auto job = key.name.empty() ? nullptr : jobs().Get(key);
  return job != nullptr && job->suspended && !job->skipped;
}

bool DescribedJobs::Describe(const KindPtr& description) {
  const bool differs = description_ == nullptr || description == nullptr ||
                       *description_->source != *description->source;
  if (differs) description_ = description;
  return differs;
}

std::vector<api::ObjectKey> DescribedJobs::Keys() const {
  std::vector<api::ObjectKey> keys;
  for (const auto& job : jobs().objects()) keys.push_back(job->meta.key());
  return keys;
}

// A text that cannot be read leaves the job as the informer has it.
DescribedJobs::JobPtr DescribedJobs::ReadAgain(const JobPtr& job, const KindPtr& description,
                                               const ReadObjects& reads) const {
  ReadJob& known = read_[job->meta.key()];
  if (known.from == job && known.description == description && known.reads == reads) {
    return known.job;
  }
  const Json object = api::ParseJsonOrNull(*job->text);
  Result<JobView> view = ViewOf(description, object, reads);
  JobPtr read = job;
  if (view) {
    read = std::make_shared<const DescribedJob>(DescribedJob{
        {*std::move(view)}, description, job->text, NamesToRead(*description, object)});
  }
  known = {job, description, reads, read};
  return read;
}

std::shared_ptr<const JobState> DescribedJobs::Get(const api::ObjectKey& key) const {
  auto job = jobs().Get(key);
  if (job == nullptr) return nullptr;
  ReadObjects reads = ReadsOf(*job);
  const bool described_anew = description_ != nullptr && job->description != description_;
  if (job->text != nullptr && (described_anew || !reads.empty())) {
    job = ReadAgain(job, described_anew ? description_ : job->description, reads);
  }
  if (held_) return held_->StateOf(*job, *job->text);
  return std::make_shared<const DescribedJobState>(std::move(job), std::move(reads));
}

}  // namespace berth::integrations
