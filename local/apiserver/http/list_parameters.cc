#include "local/apiserver/http/list_parameters.h"

#include "base/strings.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

ApiError InvalidOptions(Cause cause) {
  return InvalidStatus("meta.k8s.io", "ListOptions", "", {std::move(cause)});
}

}  // namespace

std::optional<ApiError> CheckListParameters(const Target& target) {
  const std::string match = target.Get("resourceVersionMatch");
  const std::string revision = target.Get("resourceVersion");
  if (target.Has("sendInitialEvents")) {
    return InvalidOptions(
        ForbiddenError("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (match.empty()) return std::nullopt;
  if (revision.empty()) {
    return InvalidOptions(
        ForbiddenError("resourceVersionMatch",
                       "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!target.Get("continue").empty()) {
    return InvalidOptions(ForbiddenError(
        "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match != "Exact" && match != "NotOlderThan") {
    return InvalidOptions(
        NotSupportedError("resourceVersionMatch", match, {"Exact", "NotOlderThan"}));
  }
  if (match == "Exact" && revision == "0") {
    return InvalidOptions(
        ForbiddenError("resourceVersionMatch",
                       "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
  }
  return std::nullopt;
}

ApiResult<WatchStart> ReadWatchStart(const Target& target) {
  const std::string match = target.Get("resourceVersionMatch");
  const std::string revision = target.Get("resourceVersion");
  const bool has_send = target.Has("sendInitialEvents");
  if (has_send && match != "NotOlderThan") {
    return InvalidOptions(
        ForbiddenError("resourceVersionMatch",
                       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (!has_send && !match.empty()) {
    return InvalidOptions(ForbiddenError(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (!target.Get("continue").empty()) {
    return InvalidOptions(ForbiddenError("continue", "continue is forbidden for watch"));
  }
  WatchStart start;
  start.bookmarks = target.IsTrue("allowWatchBookmarks");
  const bool any = revision.empty() || revision == "0";
  if (!any) {
    const auto number = ParseInt64(revision);
    if (!number || *number < 0) {
      return BadRequest("invalid resource version \"" + revision + "\"");
    }
    start.revision = *number;
  }
  if (has_send) {
    start.send_state = target.IsTrue("sendInitialEvents");
    start.end_of_state_bookmark = start.send_state && start.bookmarks;
    start.from_now = !start.send_state && any;
    return start;
  }
  start.send_state = any;
  start.end_of_state_bookmark = any && start.bookmarks;
  return start;
}

}  // namespace berth::local
