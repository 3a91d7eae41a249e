// cli/session.h — one conversation with a cluster's API, with the caller's own rights.
//
// Threads: one thread; calls block until the answer is there or its time is over.
// Errors: kUnavailable and kDeadlineExceeded name the URL and how to start a cluster; kForbidden
// and kNotFound are the API's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/screens/cluster_view.h"

namespace berth::cli {

class Session {
 public:
  // Reads the kubeconfig; connects only when the first call is made.
  static Result<std::unique_ptr<Session>> Open(const ClientFlags& flags);
  virtual ~Session() = default;

  virtual const std::string& default_namespace() const = 0;
  virtual const std::string& server_url() const = 0;
  virtual const std::string& cluster_name() const = 0;

  // GET of each path, all at once; one result a path, in order.
  virtual std::vector<Result<nlohmann::json>> GetAll(const std::vector<std::string>& paths) = 0;
  // POST without a body.
  virtual Result<nlohmann::json> Post(const std::string& path) = 0;
};

struct ReadScope {
  enum class Screen { kStatus, kList };
  Screen screen = Screen::kStatus;
  bool jobs = false;           // their labels are asked for
  std::string namespace_name;  // bounds namespaced kinds; empty: all namespaces
  std::string own_namespace;   // read instead where the caller may not list all
};

// Everything the screen shows. Kinds that the caller may list in the own namespace alone are
// `narrowed`, kinds that the caller may not list `hidden`, kinds that the cluster lacks `missing`;
// any other failure is the result.
Result<ClusterView> ReadCluster(Session& session, const ReadScope& scope, WallTime now);

struct StoryScope {
  std::string namespace_name;
  bool all_namespaces = false;  // the object is looked for in all of them
  std::string reference;        // as TellStory takes it
};
struct StoryView {
  ClusterView view;
  std::string namespace_name;  // where the object is, or would be
};

// What the story of one Job, Workload or Pod needs: its own objects, and more of the cluster only
// as far as it waits for it. Errors as ReadCluster; kInvalid where several namespaces have it.
Result<StoryView> ReadStory(Session& session, const StoryScope& scope, WallTime now);

// kNotFound where the cluster has no kinds of Kueue, kForbidden where the caller sees none of them.
Status CheckIsQueueing(Session& session, const ClusterView& view);

}  // namespace berth::cli
