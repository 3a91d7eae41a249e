// local/apiserver/http/extension.h — an API group that another part of the process serves, as the
// aggregation layer of Kubernetes has it: requests are passed on, documents of all groups merged.
//
// Threads: any. Set waits until no call of the replaced handler runs.
#pragma once

#include <functional>
#include <optional>
#include <shared_mutex>
#include <string>

#include "local/apiserver/api.h"
#include "net/http.h"

namespace berth::local {

class Extension {
 public:
  using Handler = std::function<net::Response(const net::Request&)>;

  void Set(const std::string& group, Handler handler);
  // The answer, if `path` is of the group.
  std::optional<net::Response> Answer(const std::string& path, const net::Request& request);
  // Adds the group's entries of `list` ("groups", "items"; "paths" is an object) to the document
  // that a GET of `path` with `accept` gives. No entries where the handler gives none.
  void AddTo(Json& document, const char* list, const std::string& path, const std::string& accept);

 private:
  std::shared_mutex mutex_;
  std::string group_;  // guarded by mutex_, which is held during calls
  Handler handler_;
};

}  // namespace berth::local
