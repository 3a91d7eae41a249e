// local/apiserver/http/extension.h — API groups that other parts of the process serve, like the
// aggregation layer of Kubernetes: requests are passed on, and documents of all groups are merged.
//
// Threads: any. Set waits until no call of any handler runs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>

#include "local/apiserver/api.h"
#include "net/http.h"

namespace berth::local {

class Extension {
 public:
  using Handler = std::function<net::Response(const net::Request&)>;

  // A null handler ends the service of the group.
  void Set(const std::string& group, Handler handler);
  bool Serves(const std::string& group);
  // The answer; nullopt: `path` is not of one of the groups.
  std::optional<net::Response> Answer(const std::string& path, const net::Request& request);
  // Asks every handler with a GET of `path` and the header Accept `accept`, and adds the entries of
  // each answer's `list` ("groups", "items"; "paths" is an object) to the same list of `document`.
  // A handler may give no entries.
  void AddTo(Json& document, const char* list, const std::string& path, const std::string& accept);

 private:
  std::shared_mutex mutex_;
  std::map<std::string, Handler> handler_by_group_;  // guarded by mutex_, held during calls
};

}  // namespace berth::local
