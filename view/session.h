// view/session.h — calls to a cluster's API with the caller's rights.
//
// Threads: one thread; calls block until the answer or the timeout.
// Errors: kUnavailable and kDeadlineExceeded name the URL and how to start a cluster; kForbidden
// and kNotFound come from the API.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "view/screens/cluster_view.h"

namespace berth::kube {
struct KubeConfig;
}

namespace berth::view {

// Chooses the cluster and the limits of requests to it.
struct ClientOptions {
  std::string kubeconfig;      // empty: KUBECONFIG, then ~/.kube/config, then the pod's account
  std::string context;         // empty: the current context
  std::string namespace_name;  // empty: the context's namespace, else "default"
  Duration timeout = std::chrono::seconds(30);  // the limit of one request
  std::int64_t page_size = 1000;                // objects of one request; 0: all
};

class Session {
 public:
  // Reads the kubeconfig; the first call connects.
  static Result<std::unique_ptr<Session>> Open(const ClientOptions& options);
  // Uses the cluster and the credentials of `config`, and only timeout and page_size of the
  // options.
  static Result<std::unique_ptr<Session>> Connect(kube::KubeConfig config,
                                                  const ClientOptions& options);
  virtual ~Session() = default;

  virtual const std::string& default_namespace() const = 0;
  virtual const std::string& server_url() const = 0;
  virtual const std::string& cluster_name() const = 0;

  // GET of each path, in parallel; one result per path, in order.
  virtual std::vector<Result<nlohmann::json>> GetAll(const std::vector<std::string>& paths) = 0;
  // GET of a list as a meta.k8s.io Table, with the columns that the server shows of the kind.
  virtual Result<nlohmann::json> GetTable(const std::string& path) = 0;
  // GET of an answer that is text, such as a log.
  virtual Result<std::string> GetText(const std::string& path) = 0;
  // A write: "POST", "PATCH" with the content type of the body. Returns the object.
  virtual Result<nlohmann::json> Write(const std::string& method, const std::string& path,
                                       const std::string& content_type,
                                       const nlohmann::json& body) = 0;
  // POST without a body.
  virtual Result<nlohmann::json> Post(const std::string& path) = 0;
};

struct ReadScope {
  enum class Screen { kStatus, kList, kCapacity, kPlan, kForecast, kNotes, kQueues };
  Screen screen = Screen::kStatus;
  bool jobs = false;           // also read the Jobs, for their labels
  bool cost = false;           // also read the objects that name prices
  bool pods = false;           // also read the pods on nodes, in Screen::kForecast
  std::string namespace_name;  // bounds namespaced kinds; empty: all namespaces
  std::string own_namespace;   // fallback where the caller may not list all
};

// Reads the data of the screens. Kinds that the caller may list in the own namespace alone become
// `narrowed`, kinds that the caller may not list `hidden`, kinds that the cluster lacks `missing`;
// any other failure is the result.
Result<ClusterView> ReadCluster(Session& session, const ReadScope& scope, WallTime now);

// Adds the data that Screen::kForecast needs beyond Screen::kNotes, for which `view` was read with
// this scope. No Workload is read twice.
Status ReadForecastRest(Session& session, const ReadScope& scope, ClusterView& view);

struct StoryScope {
  std::string namespace_name;
  bool all_namespaces = false;  // searches the object in all namespaces
  std::string reference;        // the argument of TellStory
  // Reads the pods of a job of any kind, and the ProvisioningRequests of one that has ended, too.
  bool with_past = false;
};
struct StoryView {
  ClusterView view;
  std::string namespace_name;  // namespace of the object, found or not
};

// Reads the data of one Job's, Workload's or Pod's story: its own objects, and others only while it
// waits. Errors as ReadCluster; kInvalid where several namespaces have the object.
Result<StoryView> ReadStory(Session& session, const StoryScope& scope, WallTime now);

// Adds the pods of the Workload's job, `most` at most: those of the selector of its kind, or of the
// pod group. A caller who may not read the job or the pods finds "pods" in view.hidden.
Status ReadPodsOf(Session& session, const api::Workload& workload, std::size_t most,
                  ClusterView& view);

// Jobs with more pods are not read by ReadPodsOfEach; more pods are read by several requests.
inline constexpr std::int64_t kMostPodsOfJob = 200;
inline constexpr std::int64_t kMostPodsOfRequest = 500;

// What ReadPodsOfEach could not read.
struct PodsOfEach {
  std::set<std::string> hidden;           // namespaces whose pods the caller may not list
  std::set<const api::Workload*> failed;  // the API server has not answered
};
// Adds the pods of admitted Workloads that have not ended, requested in parallel. Kinds whose pods
// only the object of the job tells (PodMarks) add none.
PodsOfEach ReadPodsOfEach(Session& session, const std::vector<const api::Workload*>& workloads,
                          ClusterView& view);

// kNotFound: the cluster has no kinds of Kueue; kForbidden: the caller may read none of them.
Status CheckIsQueueing(Session& session, const ClusterView& view);

}  // namespace berth::view
