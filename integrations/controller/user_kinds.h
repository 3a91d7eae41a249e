// integrations/controller/user_kinds.h — JobKind objects (integrations.berth.dev/v1alpha1): kinds
// that users declare while the controller runs.
//
//     JobKind ──ParseKind──▶ KindDescription ──▶ JobControllers::Manage
//        ▲
//        └── status: Ready, or the reason why the kind is not managed
//
// A description is compared with the schema of its kind (kind_schema.h) as soon as the API server
// serves it, and again until it fits. Its sample, if there is one, is played (sample_play.h).
//
// If a JobKind is deleted, or stops being a valid description, its kind is not managed from then
// on: its jobs stay as they are.
//
// Threads: the manager's Executor. Errors: of the API; the work queue retries the key.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::integrations {

// Whether both name the same resource; their frameworks may differ.
bool IsSameKind(const JobKind& a, const JobKind& b);

// A JobKind as the informer keeps it.
struct JobKindObject {
  api::ObjectMeta meta;
  std::shared_ptr<const nlohmann::json> spec;
  std::shared_ptr<const nlohmann::json> ready;  // the condition Ready; null: none
};

class UserKinds final : public kube::Reconciler {
 public:
  struct Callbacks {
    // Manages the kind from now on, or says why not.
    std::function<Status(const KindPtr& kind)> manage;
    std::function<void(const KindPtr& kind)> leave;
    // Whether the API server serves the kind.
    std::function<bool(const KindPtr& kind)> is_served;
    // On every replica: the JobKind of that name is Ready and describes `kind`; null: it is not, or
    // gone. May be null.
    std::function<void(const std::string& name, const KindPtr& kind)> review;
  };

  // Construct before the manager's informers start. `manager` and `clock` must outlive it.
  UserKinds(kube::Manager& manager, const Clock& clock, Callbacks callbacks);

  // Adds its controller to the manager.
  void Start();
  // In place of Start: calls Callbacks::review alone, and writes nothing.
  void Watch();

  // Whether every JobKind that is known is managed, or refused.
  bool is_settled() const;

  std::string_view name() const override { return "jobkind"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  struct Verdict {
    bool ready = false;
    std::string reason;
    std::string message;
    bool may_change = false;  // the verdict may change without a change of the JobKind
  };
  // The result of the comparison of a description with the schema of its kind.
  struct Comparison {
    std::shared_ptr<const nlohmann::json> source;
    std::string problem;  // empty: it fits
  };

  void Compare(const std::string& name, const KindPtr& kind,
               const Result<kube::ApiResponse>& answer);
  void Judge(const api::ObjectKey& key, Done done);
  void TellReviews(const JobKindObject& object, bool present) const;
  void Probe(const KindPtr& kind);
  Verdict Take(const JobKindObject& object);
  void Forget(const std::string& name);
  void WriteStatus(const JobKindObject& object, const Verdict& verdict, Done done);

  kube::Manager& manager_;
  const Clock& clock_;
  Callbacks callbacks_;
  kube::Informer<JobKindObject>& objects_;
  std::map<std::string, KindPtr> kinds_;        // by name of the JobKind
  std::set<std::string> judged_;                // names of JobKinds
  std::set<std::string> gone_;                  // frameworks whose CRD has been deleted
  std::map<std::string, Comparison> compared_;  // by name of the JobKind
  kube::Controller* controller_ = nullptr;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace berth::integrations
