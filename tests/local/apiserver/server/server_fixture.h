// tests/local/apiserver/server/server_fixture.h — an API server on a port of its own, and a client
// that talks to it over HTTPS.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "local/apiserver/api_server.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local {

inline constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
inline constexpr const char* kPods = "/api/v1/namespaces/default/pods";
inline constexpr const char* kJobs = "/apis/batch/v1/namespaces/default/jobs";
inline constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

struct Answer {
  int status = 0;
  Json json;  // null where the body is not JSON
  std::string text;
  net::Headers headers;
  std::vector<std::string> Warnings() const;
  std::string message() const { return json.value("message", ""); }
  std::string reason() const { return json.value("reason", ""); }
};

// The lines of a watch, one after the other.
class WatchReader {
 public:
  ~WatchReader();
  // The next event; a null value when the watch has ended or nothing came within ten seconds.
  Json Next();
  std::string NextLine();
  bool WaitForEnd();

 private:
  friend class ServerTest;
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::string text;
    bool ended = false;
    int status = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<net::StreamHandle> handle_;
};

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer({}); }
  void TearDown() override;
  void StartServer(ApiServerOptions options);
  void StopServer();

  Answer Send(const std::string& method, const std::string& target, const std::string& body = "",
              net::Headers headers = {});
  Answer Get(const std::string& target, net::Headers headers = {}) {
    return Send("GET", target, "", std::move(headers));
  }
  Answer Post(const std::string& target, const Json& body) {
    return Send("POST", target, body.dump());
  }
  Answer Put(const std::string& target, const Json& body) {
    return Send("PUT", target, body.dump());
  }
  // `type`: "merge", "json", "strategic" or "apply".
  Answer Patch(const std::string& target, const std::string& type, const Json& body);
  Answer Delete(const std::string& target, const Json& options = Json()) {
    return Send("DELETE", target, options.is_null() ? "" : options.dump());
  }
  std::unique_ptr<WatchReader> Watch(const std::string& target);
  // Sends as `user`, whom the administrator impersonates.
  Answer As(const std::string& user, const std::string& method, const std::string& target,
            const Json& body = Json(), net::Headers headers = {});
  // Gives `user` a ClusterRole of the rules.
  void GiveEverywhere(const std::string& user, const std::vector<Json>& rules);

  TempFolder folder_;
  std::unique_ptr<net::IoPool> io_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::HttpClient> client_;
};

Json ConfigMapJson(const std::string& name, const Json& data = Json::object());
Json JobJson(const std::string& name);
Json PodJson(const std::string& name);
// widgets.example.com: v1 (stored) with a status, a default, a column and a bounded number.
Json WidgetCrd();
Json WidgetJson(const std::string& name, int size);

}  // namespace berth::local
