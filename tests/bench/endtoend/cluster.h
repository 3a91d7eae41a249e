// tests/bench/endtoend/cluster.h — a `berth up` of its own, or another cluster where Berth runs,
// and a client of its API.
//
// Errors: every error ends the program with a message.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "net/client.h"
#include "net/io_pool.h"
#include "tests/bench/support/process.h"

namespace berth::bench {

using Json = nlohmann::json;

[[noreturn]] void GiveUp(const std::string& why);

class Cluster {
 public:
  // Starts `berth up` and waits until its kubeconfig exists.
  Cluster(const std::string& berth, const std::vector<std::string>& flags);
  // Another cluster, which runs. The kubeconfig has a token.
  explicit Cluster(const std::string& kubeconfig);

  // These three only of a `berth up` of its own.
  double start_seconds() const { return start_seconds_; }
  pid_t process() const { return child_->process(); }
  // Stops `berth up` and starts it again with the same data.
  void Restart();

  const std::string& kubeconfig() const { return kubeconfig_; }
  const std::string& folder() const { return folder_.path(); }
  net::HttpClient& client() { return *client_; }

  Json Get(const std::string& path);
  void Post(const std::string& path, const Json& object);
  // The store's counter of writes.
  std::int64_t Revision();

 private:
  void Start();
  void Connect();

  const std::string berth_;
  const std::vector<std::string> flags_;
  ScratchFolder folder_;
  std::string kubeconfig_;
  double start_seconds_ = 0;
  std::unique_ptr<Child> child_;
  net::IoPool io_{1};
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace berth::bench
