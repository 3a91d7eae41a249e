// Get and list.
#include <algorithm>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/registry.h"

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

// Whether the object has another version than the request's, or an older schema's form.
bool NeedsShaping(const ResourceInfo& resource, const StoredObject& object) {
  if (object.api_version() != resource.api_version()) return true;
  return resource.crd != nullptr && object.revision() < resource.crd->revision;
}

void Present(const ResourceInfo& resource, Json& object) {
  if (resource.crd_version == nullptr) return;
  resource.crd_version->schema->Prune(object);
  resource.crd_version->schema->Default(object);
}

}  // namespace

ApiResult<StoredPtr> Registry::Get(const RequestContext& context) {
  const StoredPtr stored = store_.cache().Get(context.key());
  if (stored == nullptr) return NotFoundStatus(context.resource->id, context.name);
  return InRequestVersion(context, stored);
}

ApiResult<StoredPtr> Registry::InRequestVersion(const RequestContext& context,
                                                const StoredPtr& object) {
  const ResourceInfo& resource = *context.resource;
  if (!NeedsShaping(resource, *object)) return object;
  const Object json = object->json();
  if (json == nullptr) return InternalStatus("the stored object cannot be read");
  auto converted = converter_.ConvertOne(resource, *json, resource.api_version());
  if (!converted) return converted.error();
  Present(resource, *converted);
  return StoredPtr(std::make_shared<const StoredObject>(
      object->key(), object->revision(), StoredObject::MakeDraft(std::move(*converted))));
}

ApiResult<ListResult> Registry::List(const RequestContext& context, const ReadQuery& query) {
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
  return ListInVersion(context, std::move(result));
}

// Converts the whole list with one call of the webhook.
ApiResult<ListResult> Registry::ListInVersion(const RequestContext& context, ListResult result) {
  const ResourceInfo& resource = *context.resource;
  const std::string api_version = resource.api_version();
  std::vector<std::size_t> places;
  std::vector<Json> others;
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    if (!NeedsShaping(resource, *result.items[i])) continue;
    const Object json = result.items[i]->json();
    if (json == nullptr) return InternalStatus("a stored object cannot be read");
    places.push_back(i);
    others.push_back(*json);
  }
  if (others.empty()) return result;
  auto converted = converter_.Convert(resource, std::move(others), api_version);
  if (!converted) return converted.error();
  for (std::size_t k = 0; k < places.size(); ++k) {
    StoredPtr& item = result.items[places[k]];
    Json object = std::move((*converted)[k]);
    Present(resource, object);
    item = std::make_shared<const StoredObject>(item->key(), item->revision(),
                                                StoredObject::MakeDraft(std::move(object)));
  }
  return result;
}

std::string FieldLabelValue(const StoredObject& object, std::string_view label) {
  if (label == "metadata.name") return object.key().name;
  if (label == "metadata.namespace") return object.key().namespace_name;
  const Object json = object.json();
  if (json == nullptr) return "";
  if (object.key().resource == "events" && label == "source") {
    const std::string component = TextAt(*json, {"source", "component"});
    return component.empty() ? TextAt(*json, {"reportingComponent"}) : component;
  }
  // Events are stored in the core group's form.
  constexpr std::string_view kRegarding = "regarding.";
  if (label.substr(0, kRegarding.size()) == kRegarding) {
    return FieldText(*json, "involvedObject." + std::string(label.substr(kRegarding.size())));
  }
  if (label == "reportingController") return TextAt(*json, {"reportingComponent"});
  std::string text = FieldText(*json, label);
  if (text.empty() && (label == "spec.unschedulable" || label == "spec.hostNetwork")) {
    return "false";
  }
  if (text.empty() && label == "status.successful") return "0";
  return text;
}

bool MatchesQuery(const StoredObject& object, const LabelSelector& labels,
                  const FieldSelector& fields) {
  if (!fields.empty() &&
      !Matches(fields, [&](std::string_view label) { return FieldLabelValue(object, label); })) {
    return false;
  }
  if (labels.empty()) return true;
  const Object json = object.json();
  if (json == nullptr) return false;
  const Json* found = At(*json, {"metadata", "labels"});
  return Matches(labels, found == nullptr ? Json() : *found);
}

}  // namespace berth::local
