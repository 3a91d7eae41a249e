#include "program/caller_screens.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "kube/client/api_client.h"
#include "program/caller_actions.h"
#include "program/caller_locations.h"
#include "program/caller_objects.h"
#include "program/caller_story.h"
#include "program/caller_topology.h"
#include "view/screens/capacity.h"
#include "view/screens/cost_screen.h"
#include "view/screens/pending_capacity.h"
#include "view/screens/text.h"
#include "view/view_reader.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;
using Kind = readapi::CallerRequest::Kind;

constexpr std::size_t kMostKeptAnswers = 64;
constexpr std::size_t kMostJoined = 1024;  // the most callers who join one answer
constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta2/";

std::string LineOf(const Json& value) { return api::FormatJson(value) + "\n"; }

view::Want Memories(view::ViewKind kind, const char* label) {
  return {.kind = kind, .query = std::string("labelSelector=") + label};
}

// The address of the API server is of no use to the caller.
Error ToldOf(const Error& error) {
  if (error.code != ErrorCode::kUnavailable && error.code != ErrorCode::kDeadlineExceeded) {
    return error;
  }
  return {ErrorCode::kUnavailable, "the API server does not answer"};
}

template <typename T>
void CopyAll(const std::vector<std::shared_ptr<const T>>& from, std::vector<T>& to) {
  to.reserve(from.size());
  for (const auto& each : from) to.push_back(*each);
}

// Without the right to impersonate, each request is refused alike, and a screen would call
// everything hidden. Where /version is closed to the user, its refusal names another verb.
Status CheckImpersonation(view::Session& session, const std::string& user) {
  const std::vector<Result<Json>> version = session.GetAll({"/version"});
  if (version.front() || version.front().error().code != ErrorCode::kForbidden ||
      version.front().error().message.find("impersonate") == std::string::npos) {
    return OkStatus();
  }
  return Error{ErrorCode::kForbidden,
               "the controller may not ask on behalf of " + user +
                   ": give its account the right to impersonate users and groups "
                   "(docs/guide/dashboard.md, \"Who sees what\")"};
}

// What the nodes have in all.
Json MachinesJson(const MirrorObjects& objects) {
  Json machines = Json::array();
  for (const auto& [resource, total] : objects.machines) {
    machines.push_back({{"resource", resource},
                        {"unit", view::UnitOf(resource)},
                        {"ready", total.ready},
                        {"all", total.all}});
  }
  return machines;
}

// The nodes of the pools that the view has.
void AddNodes(const MirrorObjects& objects, view::ClusterView& view) {
  for (const auto& node : objects.nodes) {
    const std::string* pool = api::FindValue(node->meta.labels, api::kGkeNodePoolLabel);
    if (pool == nullptr) continue;
    view.nodes.push_back(
        {.name = node->meta.name, .pool = *pool, .ready = api::IsTrue(node->conditions, "Ready")});
  }
  view::CountNodes(view);
}

Error Busy() {
  return {ErrorCode::kTooManyRequests, "too many requests of this kind wait: try again later"};
}

}  // namespace

kube::KubeConfig WithToken(const kube::KubeConfig& api, const std::string& token) {
  kube::KubeConfig config;
  config.context = api.context;
  config.server = api.server;
  config.server_name = api.server_name;
  config.proxy_url = api.proxy_url;
  config.ca_pem = api.ca_pem;
  config.ca_file = api.ca_file;
  config.namespace_name = api.namespace_name;
  config.bearer_token = token;
  return config;
}

kube::KubeConfig AsUser(kube::KubeConfig api, const readapi::CallerUser& user) {
  api.as = {.user = user.name, .groups = user.groups};
  return api;
}

CallerScreens::CallerScreens(const Clock& clock, CallerScreensOptions options)
    : clock_(clock), options_(std::move(options)) {
  for (auto& line : lines_) line = pool_.MakeStrand();
}

void CallerScreens::Stop() {
  stopped_ = true;
  pool_.Stop();
}

// Whether `done` is answered, or will be with an answer that is being made.
bool CallerScreens::Joins(const readapi::CallerRequest& request, Done& done) {
  std::unique_lock lock(mutex_);
  std::erase_if(kept_,
                [now = clock_.SteadyNow()](const auto& each) { return now >= each.second.until; });
  if (const auto kept = kept_.find(request); kept != kept_.end()) {
    const std::string text = kept->second.text;
    lock.unlock();
    done(text);
    return true;
  }
  const auto [made, is_first] = being_made_.try_emplace(request);
  if (is_first) return false;
  if (made->second.size() < kMostJoined) {
    made->second.push_back(std::move(done));
    return true;
  }
  lock.unlock();
  done(Busy());
  return true;
}

// The others that wait for the answer; a text is kept for those who come.
std::vector<CallerScreens::Done> CallerScreens::TakeJoined(const readapi::CallerRequest& request,
                                                           const Result<std::string>& answer) {
  const std::lock_guard lock(mutex_);
  // Pages ask for locations again and again, each for its own rows.
  const bool is_kept = answer && request.kind != Kind::kLocations;
  if (is_kept && kept_.size() < kMostKeptAnswers) {
    kept_[request] = {clock_.SteadyNow() + options_.kept_for, *answer};
  }
  const auto made = being_made_.extract(request);
  return made.empty() ? std::vector<Done>() : std::move(made.mapped());
}

// Stories, which people wait for, do not queue behind the lists of all nodes and pods; nor do logs
// behind locations, which pages ask for again and again.
CallerScreens::Line CallerScreens::LineFor(Kind kind) {
  switch (kind) {
    case Kind::kStory: return kStories;
    case Kind::kLocations: return kLocations;
    case Kind::kObjects:
    case Kind::kLog: return kDetails;
    case Kind::kWhatIf: return kForecasts;
    case Kind::kAction: return kWrites;
    default: return kReads;
  }
}

void CallerScreens::Ask(const readapi::CallerRequest& request,
                        const std::function<MirrorObjects()>& objects, Done done,
                        HasLeft has_left) {
  const bool is_read = request.kind != Kind::kWhatIf && request.kind != Kind::kAction;
  const Line line = LineFor(request.kind);
  if (is_read && Joins(request, done)) return;
  const auto answer = [this, is_read, request,
                       done = std::move(done)](const Result<std::string>& text) {
    for (const Done& other : is_read ? TakeJoined(request, text) : std::vector<Done>()) other(text);
    done(text);
  };
  if (waiting_.at(line).fetch_add(1) >= options_.most_waiting) {
    waiting_.at(line).fetch_sub(1);
    return answer(Busy());
  }
  MirrorObjects taken = line == kWrites ? MirrorObjects() : objects();
  if (is_read) has_left = nullptr;  // others may have joined
  lines_.at(line)->Post(
      [this, line, request, taken = std::move(taken), answer, has_left = std::move(has_left)] {
        if (has_left != nullptr && has_left()) {
          waiting_.at(line).fetch_sub(1);
          return answer(Error{ErrorCode::kUnavailable, "the client has left"});
        }
        const Result<std::string> text = Make(request, taken);
        waiting_.at(line).fetch_sub(1);
        answer(text ? text : Result<std::string>(ToldOf(text.error())));
      });
}

Result<std::string> CallerScreens::Make(const readapi::CallerRequest& request,
                                        const MirrorObjects& objects) const {
  view::ClientOptions client;
  client.timeout = options_.call_timeout;
  BERTH_TRY(const std::unique_ptr<view::Session> session,
            view::Session::Connect(request.user ? AsUser(options_.api, *request.user)
                                                : WithToken(options_.api, request.token),
                                   client));
  if (request.user) BERTH_CHECK_OK(CheckImpersonation(*session, request.user->name));
  switch (request.kind) {
    case Kind::kCapacity: return Capacity(*session, request, objects);
    case Kind::kTopology: {
      BERTH_TRY(const Json topology, CallerTopology(*session, request, objects, clock_.Now()));
      return LineOf(topology);
    }
    case Kind::kLocations: return LineOf(CallerLocations(*session, request, objects, clock_.Now()));
    case Kind::kCost: return Cost(*session, request, objects);
    case Kind::kStory: {
      BERTH_TRY(const Json story, CallerStory(*session, request, objects, clock_.Now()));
      return LineOf(story);
    }
    case Kind::kObjects: {
      BERTH_TRY(const Json told, CallerWorkloadObjects(*session, request, objects));
      return LineOf(told);
    }
    case Kind::kLog: {
      BERTH_TRY(const Json log, CallerLog(*session, request));
      return LineOf(log);
    }
    case Kind::kWhatIf: return WhatIf(*session, request, objects);
    case Kind::kAction: break;
  }
  BERTH_TRY(const CallerAction action, ParseAction(request.body));
  BERTH_TRY(const Json written,
            session->Write("PATCH", action.path, "application/merge-patch+json", action.patch));
  return LineOf({{"done", action.words}});
}

Result<std::string> CallerScreens::Capacity(view::Session& session,
                                            const readapi::CallerRequest& request,
                                            const MirrorObjects& objects) const {
  view::ClusterView view;
  view.now = clock_.Now();
  std::vector<view::Want> wants;
  for (const view::ViewKind kind :
       {view::ViewKind::kNodePools, view::ViewKind::kAdmissionChecks, view::ViewKind::kFlavors,
        view::ViewKind::kProvisioningPolicies}) {
    wants.push_back({.kind = kind});
  }
  wants.push_back({.kind = view::ViewKind::kKarpenterPools});
  wants.push_back(Memories(view::ViewKind::kStock, api::kStockLabel));
  wants.push_back(Memories(view::ViewKind::kMeters, api::kSpendLabel));
  BERTH_CHECK_OK(view::ReadLists(session, wants, "", view));
  const bool sees_nodes = MayList(session, "/api/v1/nodes").has_value();
  if (!sees_nodes) view.hidden.emplace_back("nodes");
  if (sees_nodes) AddNodes(objects, view);
  std::erase_if(view.meters, [&request](const view::MetersView& each) {
    return !MaySee(request, each.queue.substr(0, each.queue.find('/')));
  });
  std::map<std::string, const api::Workload*> by_key;
  for (const auto& workload : objects.workloads)
    by_key[api::OwnerKey(workload->meta)] = workload.get();
  for (const auto& each : objects.requests) {
    if (!MaySee(request, each->meta.namespace_name)) continue;
    view.provisioning_requests.push_back(*each);
    for (const api::OwnerReference& owner : each->meta.owner_references) {
      const auto found = by_key.find(api::OwnerKey(each->meta.namespace_name, owner.uid));
      if (found != by_key.end()) view.workloads.push_back(*found->second);
    }
  }
  for (const auto& workload : objects.workloads) {
    const bool is_own = MaySee(request, workload->meta.namespace_name);
    if (is_own && view::WaitsForNodes(view, *workload)) view.workloads.push_back(*workload);
  }
  Json screen = view::CapacityScreenJson(view);
  screen["prices"] = view::PricesJson(view);
  if (sees_nodes) screen["machines"] = MachinesJson(objects);
  return LineOf(screen);
}

Result<std::string> CallerScreens::Cost(view::Session& session,
                                        const readapi::CallerRequest& request,
                                        const MirrorObjects& objects) const {
  view::ClusterView view;
  view.now = clock_.Now();
  std::vector<view::Want> wants;
  for (const view::ViewKind kind :
       {view::ViewKind::kAdmissionChecks, view::ViewKind::kFlavors,
        view::ViewKind::kProvisioningConfigs, view::ViewKind::kProvisioningPolicies}) {
    wants.push_back({.kind = kind});
  }
  wants.push_back(Memories(view::ViewKind::kMeters, api::kSpendLabel));
  BERTH_CHECK_OK(view::ReadLists(session, wants, "", view));
  for (const auto& each : objects.requests) {
    if (each->meta.namespace_name == request.namespace_name) {
      view.provisioning_requests.push_back(*each);
    }
  }
  const auto found =
      std::find_if(objects.workloads.begin(), objects.workloads.end(), [&](const auto& each) {
        return each->meta.key() == api::ObjectKey{request.namespace_name, request.name};
      });
  if (found == objects.workloads.end()) return Error{ErrorCode::kNotFound, "no such Workload"};
  return LineOf(
      {{"cost", view::RunCostJson(view::CostOfRun(view, **found))}, {"hidden", view.hidden}});
}

Result<std::string> CallerScreens::WhatIf(view::Session& session,
                                          const readapi::CallerRequest& request,
                                          const MirrorObjects& objects) const {
  BERTH_TRY(const CallerWhatIf asked, ParseWhatIf(request.body));
  if (objects.workloads.size() > kMostWhatIfJobs) {
    return Error{ErrorCode::kInvalid, "the cluster has more than " +
                                          std::to_string(kMostWhatIfJobs) +
                                          " Workloads: use `berth what-if`"};
  }
  view::ClusterView view;
  view.now = clock_.Now();
  std::vector<view::Want> wants;
  for (const view::ViewKind kind :
       {view::ViewKind::kFlavors, view::ViewKind::kAdmissionChecks,
        view::ViewKind::kProvisioningConfigs, view::ViewKind::kProvisioningPolicies,
        view::ViewKind::kNamespaces, view::ViewKind::kPriorityClasses, view::ViewKind::kJobs}) {
    wants.push_back({.kind = kind});
  }
  BERTH_CHECK_OK(view::ReadLists(session, wants, "", view));
  CopyAll(objects.workloads, view.workloads);
  CopyAll(objects.local_queues, view.local_queues);
  CopyAll(objects.cluster_queues, view.cluster_queues);
  CopyAll(objects.cohorts, view.cohorts);
  CopyAll(objects.requests, view.provisioning_requests);
  CallerWhatIfOptions options;
  options.ledger = options_.ledger;
  options.driver = options_.driver;
  options.is_late = [this, until = clock_.SteadyNow() + options_.longest_forecast] {
    return stopped_ || clock_.SteadyNow() >= until;
  };
  BERTH_TRY(Json answer, AnswerWhatIf(asked, view, options));
  std::vector<std::string> paths;
  for (const std::string& queue : QueuesOf(asked)) {
    paths.push_back(std::string(kKueue) + "clusterqueues/" + kube::EscapeQuery(queue));
  }
  std::string apply;
  for (const Result<Json>& queue : session.GetAll(paths)) {
    if (!queue) return queue.error();
    BERTH_TRY(const std::string yaml, ChangedQueueYaml(*queue, asked));
    apply += "---\n" + yaml;
  }
  answer["apply"] = apply;
  return LineOf(answer);
}

}  // namespace berth::program
