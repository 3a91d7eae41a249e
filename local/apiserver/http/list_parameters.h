// local/apiserver/http/list_parameters.h — resourceVersion, resourceVersionMatch and
// sendInitialEvents of lists and watches: what they mean together.
//
// Source: Kubernetes API concepts, resource versions; KEP-3157.
#pragma once

#include <cstdint>
#include <optional>

#include "local/apiserver/api.h"
#include "local/apiserver/http/target.h"

namespace berth::local {

std::optional<ApiError> CheckListParameters(const Target& target);

struct WatchStart {
  std::int64_t revision = 0;  // changes after it
  bool from_now = false;      // changes from now on, without the state
  bool send_state = false;    // the whole state first
  bool end_of_state_bookmark = false;
  bool bookmarks = false;
};
ApiResult<WatchStart> ReadWatchStart(const Target& target);

}  // namespace berth::local
