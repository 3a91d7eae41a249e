// local/apiserver/http/list_parameters.h — resolves resourceVersion, resourceVersionMatch and
// sendInitialEvents of lists and watches.
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
  std::int64_t revision = 0;  // start of the changes (exclusive)
  bool from_now = false;      // no state is sent, only changes from now on
  bool send_state = false;    // begin with the whole state
  bool end_of_state_bookmark = false;
  bool bookmarks = false;
};
ApiResult<WatchStart> ReadWatchStart(const Target& target);

}  // namespace berth::local
