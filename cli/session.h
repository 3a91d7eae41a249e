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
};

// Everything the screens show. `namespace_name` bounds namespaced kinds; empty: all namespaces.
// Kinds that the caller may not list go to `hidden`, kinds that the cluster lacks to `missing`;
// any other failure is the result.
Result<ClusterView> ReadCluster(Session& session, const std::string& namespace_name, WallTime now);

}  // namespace berth::cli
