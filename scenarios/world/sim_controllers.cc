#include "scenarios/world/sim_controllers.h"

#include <algorithm>
#include <utility>

#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "program/component_reviews.h"
#include "program/embedded_manifests.h"

namespace berth::sim {
namespace {

constexpr Duration kStartLimit = std::chrono::minutes(2);
constexpr Duration kProcessStart = std::chrono::seconds(3);  // after a replica has ended by itself

}  // namespace

SimControllers::SimControllers(EmbeddedApi& api, SimWebhooks& webhooks, SimExecutor& executor,
                               const Clock& clock, SimControllersOptions options)
    : api_(api),
      webhooks_(webhooks),
      executor_(executor),
      clock_(clock),
      options_(std::move(options)),
      replicas_(static_cast<std::size_t>(options_.replicas)) {
  options_.transport.on_answer = [this](const kube::ApiRequest& request,
                                        const kube::ApiResponse& response) {
    if (answer_hook_) answer_hook_(request, response);
  };
}

SimTransport& SimControllers::transport() {
  return replicas_[static_cast<std::size_t>(std::max(0, leader()))]->transport();
}

void SimControllers::ForEachTransport(const std::function<void(SimTransport& transport)>& act) {
  for (const auto& replica : replicas_) {
    if (replica != nullptr) act(replica->transport());
  }
}

void SimControllers::Configure(admission::Configuration configuration) {
  options_.configuration = std::move(configuration);
}

SimReplicaOptions SimControllers::ReplicaOptions(int number) {
  SimReplicaOptions options;
  options.identity = "replica-" + std::to_string(number) + "_" + std::to_string(++launches_);
  if (options_.replicas > 1) options.election = &options_.election;
  options.transport = options_.transport;
  options.transport.fault = [this, number](const kube::ApiRequest& request) {
    asking_ = number;
    return fault_ ? fault_(request) : Fault::kNone;
  };
  options.configuration = options_.configuration;
  options.on_lease_lost = [this, number] { OnLeaseLost(number); };
  return options;
}

// The process exits, and is restarted.
void SimControllers::OnLeaseLost(int number) {
  const std::string lost = identity(number);
  executor_.Post([this, number, lost] {
    if (identity(number) == lost) Kill(number);
  });
  executor_.PostAfter(kProcessStart, [this, number, lost] {
    // Unless all of them were stopped meanwhile.
    if (launched() && identity(number).empty()) Launch(number);
  });
}

void SimControllers::Kill(int number) { replicas_[static_cast<std::size_t>(number)].reset(); }

void SimControllers::Launch(int number) {
  auto& replica = replicas_[static_cast<std::size_t>(number)];
  if (replica != nullptr) return;
  replica = std::make_unique<SimReplica>(api_.registry(), webhooks_, executor_, clock_,
                                         ReplicaOptions(number));
}

int SimControllers::leader() const {
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    if (replicas_[i] != nullptr && replicas_[i]->controllers_running()) return static_cast<int>(i);
  }
  return -1;
}

std::string SimControllers::identity(int number) const {
  const auto& replica = replicas_[static_cast<std::size_t>(number)];
  return replica == nullptr ? "" : replica->identity();
}

void SimControllers::Stop() {
  for (auto& replica : replicas_) replica.reset();
}

// The reviews of `berth up` for the frameworks of the configuration. Those of batch/job are there
// from the start.
Status SimControllers::ApplyReviews() {
  if (options_.configuration.frameworks == reviewed_) return OkStatus();
  BERTH_TRY(const auto documents, api::ParseYamlStream(program::WebhookManifests()));
  for (const api::YamlDocument& document : documents) {
    local::Json object = document.value;
    BERTH_CHECK_OK(program::AddComponentReviews(options_.configuration.frameworks, object));
    const auto applied = api_.Apply(object);
    if (!applied) return Error{ErrorCode::kInternal, applied.error().message};
  }
  reviewed_ = options_.configuration.frameworks;
  return OkStatus();
}

Status SimControllers::Start() {
  BERTH_CHECK_OK(ApplyReviews());
  for (int i = 0; i < options_.replicas; ++i) Launch(i);
  if (executor_.RunUntil([this] { return running(); }, kStartLimit)) return OkStatus();
  const auto& first = replicas_[0];
  return Error{ErrorCode::kDeadlineExceeded,
               "controllers wait for " + (first == nullptr ? "" : Join(first->NotSynced(), ", "))};
}

bool SimControllers::launched() const {
  return std::any_of(replicas_.begin(), replicas_.end(),
                     [](const auto& replica) { return replica != nullptr; });
}

const admission::Scheduler& SimControllers::scheduler() const {
  return replicas_[static_cast<std::size_t>(leader())]->scheduler();
}

}  // namespace berth::sim
