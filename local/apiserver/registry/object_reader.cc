#include "local/apiserver/registry/object_reader.h"

#include <utility>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr std::string_view kContinueVersion = "meta.k8s.io/v1";

struct Position {
  std::int64_t revision = 0;
  std::string after;  // "namespace/name" of the last listed object
};

std::string PlaceOf(const StoredObject& object) {
  return object.key().namespace_name + "/" + object.key().name;
}

std::string EncodeToken(std::int64_t revision, const std::string& after, const std::string& epoch) {
  const Json token{{"v", kContinueVersion}, {"rv", revision}, {"start", after}, {"epoch", epoch}};
  return Base64UrlEncode(api::FormatJson(token));
}

ApiResult<Position> DecodeToken(const std::string& token, const std::string& epoch) {
  const auto text = Base64UrlDecode(token);
  const Json json = text ? api::ParseJsonOrNull(*text) : Json();
  if (!json.is_object() || TextAt(json, {"v"}) != kContinueVersion) {
    return ApiError{400, "BadRequest", "continue key is not valid: it was not made by this server",
                    Json()};
  }
  if (TextAt(json, {"epoch"}) != epoch) {
    return ExpiredStatus(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter.");
  }
  return Position{IntAt(json, {"rv"}, 0), TextAt(json, {"start"})};
}

constexpr std::int64_t kAnyRevision = -1;  // in a token: go on with the present state

// The revision that the list shows; kAnyRevision: the present one.
ApiResult<std::int64_t> WantedRevision(const ReadQuery& query, std::int64_t current) {
  if (query.resource_version.empty() || query.resource_version == "0") return kAnyRevision;
  const auto revision = ParseInt64(query.resource_version);
  if (!revision || *revision < 0) {
    return ApiError{400, "BadRequest",
                    "invalid resource version \"" + query.resource_version + "\"", Json()};
  }
  if (*revision > current) return TooLargeRevisionStatus(*revision, current);
  const std::string& match = query.resource_version_match;
  // A limit without a match asks for exactly this revision, as it does in Kubernetes.
  const bool is_exact = match == "Exact" || (match.empty() && query.limit > 0);
  return is_exact ? *revision : kAnyRevision;
}

// The token in the answer goes on with the present state.
ApiError ExpiredPage(const Position& position, const std::string& epoch) {
  ApiError error = ExpiredStatus(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this "
      "response to retrieve the remainder of the results. Continuing with the provided token "
      "results in an inconsistent list - objects that were created, modified, or deleted between "
      "the time the first chunk was returned and now may show up in the list.");
  error.continue_token = EncodeToken(kAnyRevision, position.after, epoch);
  return error;
}

}  // namespace

ApiResult<StoredPtr> ObjectReader::Get(const RequestContext& context) const {
  const StoredPtr stored = store_.cache().Get(context.key());
  if (stored == nullptr) return NotFoundStatus(context.resource->id, context.name);
  return converter_.ToVersion(*context.resource, stored);
}

ApiResult<ListResult> ObjectReader::List(const RequestContext& context,
                                         const ReadQuery& query) const {
  Position position;
  if (!query.continue_token.empty()) {
    if (!query.resource_version.empty()) {
      return ApiError{400, "BadRequest",
                      "specifying resource version is not allowed when using continue", Json()};
    }
    auto decoded = DecodeToken(query.continue_token, store_.epoch());
    if (!decoded) return decoded.error();
    position = std::move(*decoded);
  }
  const std::int64_t current = store_.cache().revision();
  auto wanted = WantedRevision(query, current);
  if (!wanted) return wanted.error();
  if (!position.after.empty()) *wanted = position.revision;
  if (*wanted > current) return TooLargeRevisionStatus(*wanted, current);
  const std::size_t slash = position.after.find('/');
  WatchCache::Range range{context.namespace_name, {}, 0};
  if (slash != std::string::npos) {
    range.after = {position.after.substr(0, slash), position.after.substr(slash + 1)};
  }
  const bool selects = !query.labels.empty() || !query.fields.empty();
  if (!selects) range.most = query.limit;
  const WatchCache::Part part = store_.cache().ListAt(context.resource->storage, range, *wanted);
  if (part.state == WatchCache::Part::State::kExpired) {
    if (!position.after.empty()) return ExpiredPage(position, store_.epoch());
    return ExpiredStatus("The resourceVersion for the provided list is too old.");
  }
  ListResult result;
  result.revision = part.revision;
  std::size_t looked_at = 0;
  for (const StoredPtr& object : part.objects) {
    if (auto error = CheckCancellationAt(looked_at++)) return *error;
    if (selects && !MatchesQuery(*object, query.labels, query.fields)) continue;
    if (query.limit > 0 && result.items.size() == query.limit) {
      result.continue_token =
          EncodeToken(result.revision, PlaceOf(*result.items.back()), store_.epoch());
      break;
    }
    result.items.push_back(object);
  }
  if (part.more > 0) {
    result.continue_token =
        EncodeToken(result.revision, PlaceOf(*result.items.back()), store_.epoch());
    result.remaining = part.more;
  }
  if (auto error = converter_.ToVersion(*context.resource, result.items)) return *error;
  return result;
}

}  // namespace berth::local
