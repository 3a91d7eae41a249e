// local/apiserver/http/extension.h — API groups that other parts of the process serve, as the
// aggregation layer of Kubernetes has it: requests are passed on, documents of all groups merged.
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

  // Null: the group is not served any more.
  void Set(const std::string& group, Handler handler);
  bool Serves(const std::string& group);
  // The answer, if `path` is of one of the groups.
  std::optional<net::Response> Answer(const std::string& path, const net::Request& request);
  // Adds the entries of all groups in `list` ("groups", "items"; "paths" is an object), which a GET
  // of `path` with `accept` gives, to the document. No entries where a handler gives none.
  void AddTo(Json& document, const char* list, const std::string& path, const std::string& accept);

 private:
  std::shared_mutex mutex_;
  std::map<std::string, Handler> handler_by_group_;  // guarded by mutex_, held during calls
};

}  // namespace berth::local
