#include "integrations/controller/pod_steps.h"

#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kPodManager[] = "kueue";

// Whether a value has all that a merge patch writes. The server leaves out what is empty.
bool Shows(const Json* value, const Json& patch) {
  if (patch.is_object() && !patch.empty()) {
    if (value == nullptr || !value->is_object()) return false;
    for (const auto& [key, wanted] : patch.items()) {
      const auto found = value->find(key);
      if (!Shows(found == value->end() ? nullptr : &*found, wanted)) return false;
    }
    return true;
  }
  const bool is_empty = value == nullptr || value->is_null() || value->empty();
  if (patch.is_null() || patch.empty()) return is_empty;
  return value != nullptr && *value == patch;
}

// Whether the write happened, and its answer is lost.
bool HasHappened(const PodWrite& write, const Json& object) {
  if (write.patch == nullptr || write.type != kube::PatchType::kMerge) return false;
  Json patch = *write.patch;
  if (const auto metadata = patch.find("metadata"); metadata != patch.end()) {
    metadata->erase("resourceVersion");
  }
  return Shows(&object, patch);
}

// Runs `lanes`, each in order, at most kPodsAtOnce at a time. A lane's failure ends that lane
// alone; the first failure is the result.
struct Lanes {
  std::vector<std::vector<kube::Step>> lanes;
  std::function<void(Status)> done;
  std::size_t next = 0;
  std::size_t running = 0;
  Status result = OkStatus();

  static void Go(const std::shared_ptr<Lanes>& all) {
    while (all->running < kPodsAtOnce && all->next < all->lanes.size()) {
      ++all->running;
      kube::RunSteps(std::move(all->lanes[all->next++]), [all](Status status) {
        if (!status && all->result) all->result = std::move(status);
        --all->running;
        if (all->next == all->lanes.size() && all->running == 0) {
          return std::exchange(all->done, nullptr)(std::move(all->result));
        }
        Go(all);
      });
    }
  }
};

}  // namespace

kube::Step PodSteps::All(std::vector<PodWrite> writes, std::function<void()> on_written) {
  return [this, writes = std::move(writes),
          on_written = std::move(on_written)](std::function<void(Status)> next) {
    auto all = std::make_shared<Lanes>();
    all->done = std::move(next);
    const PodWrite* before = nullptr;
    for (const PodWrite& write : writes) {
      if (before == nullptr || before->pod != write.pod) all->lanes.emplace_back();
      all->lanes.back().push_back(One(write));
      before = &write;
    }
    for (std::vector<kube::Step>& lane : all->lanes) {
      if (!on_written) break;
      lane.push_back([on_written](const std::function<void(Status)>& end) {
        on_written();
        end(OkStatus());
      });
    }
    Lanes::Go(all);
  };
}

kube::Step PodSteps::One(PodWrite write) {
  if (write.resource == nullptr) write.resource = &source_.pod_resource();
  return [this, write = std::move(write)](std::function<void(Status)> next) {
    if (write.patch == nullptr) {
      return client_.Delete(*write.resource, write.pod, {.precondition_uid = write.uid},
                            [this, write, next = std::move(next)](const Status& done) {
                              if (done) return next(OkStatus());
                              EndFailed(write, done.error(), next);
                            });
    }
    const bool applies = write.type == kube::PatchType::kApply;
    client_.Patch(*write.resource, write.pod, write.type, *write.patch,
                  {.field_manager = applies ? kPodManager : "berth",
                   .force = applies ? kube::Force::kYes : kube::Force::kNo,
                   .subresource = write.subresource},
                  [this, write, next = std::move(next)](Result<kube::JsonPtr> done) {
                    if (!done) return EndFailed(write, done.error(), next);
                    if (*done != nullptr) source_.Ingest(**done);
                    next(OkStatus());
                  });
  };
}

// Another client's deletion counts as success, and so does a write that the pod shows. The pod is
// read again, so that the next plan, which counts pods, does not stand on a state from before the
// write.
void PodSteps::EndFailed(const PodWrite& write, const Error& error,
                         std::function<void(Status)> next) {
  if (error.code == ErrorCode::kNotFound) return next(OkStatus());
  client_.Get(*write.resource, write.pod,
              [this, write,
               named = Annotate(error, "writing " + std::string(write.resource->plural) + " " +
                                           write.pod.ToString()),
               next = std::move(next)](const Result<kube::JsonPtr>& answer) {
                if (!answer || *answer == nullptr) return next(named);
                source_.Ingest(**answer);
                next(HasHappened(write, **answer) ? OkStatus() : Status(named));
              });
}

}  // namespace berth::integrations
