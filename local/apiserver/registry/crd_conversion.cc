#include "local/apiserver/registry/crd_conversion.h"

#include <chrono>
#include <utility>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/registry/autoscaler_versions.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr auto kTimeout = std::chrono::seconds(30);

ApiError Failed(const ResourceInfo& resource, std::string_view from, std::string_view why) {
  return {500, "InternalError",
          "conversion webhook for " + std::string(from) + ", Kind=" + resource.kind +
              " failed: " + std::string(why),
          Json()};
}

// The two forms of an event: {core/v1, events.k8s.io/v1}.
constexpr std::pair<const char*, const char*> kEventFields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"}};

void ConvertEvent(Json& event, const std::string& api_version) {
  const bool to_core = api_version == "v1";
  for (const auto& [core, other] : kEventFields) {
    const char* from = to_core ? other : core;
    const char* to = to_core ? core : other;
    const auto it = event.find(from);
    if (it == event.end()) continue;
    Json value = std::move(*it);
    event.erase(from);
    event[to] = std::move(value);
  }
  event["apiVersion"] = api_version;
}

bool SameIdentity(const Json& a, const Json& b) {
  return NameOf(a) == NameOf(b) && NamespaceOf(a) == NamespaceOf(b) && UidOf(a) == UidOf(b);
}

// Whether the object has another version than the resource, or an older schema's form.
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

std::string StoredVersion(const ResourceInfo& resource) {
  if (resource.crd != nullptr) return ApiVersion(resource.id.group, resource.crd->storage_version);
  if (resource.storage == "events") return "v1";
  if (resource.storage == kAutoscalers) return kAutoscalerStoredVersion;
  return resource.api_version();
}

bool IsStorageVersion(const ResourceInfo& resource) {
  return StoredVersion(resource) == resource.api_version();
}

WebhookTarget ReadClientConfig(const Json& client_config) {
  WebhookTarget target;
  target.url = TextAt(client_config, {"url"});
  target.service_namespace = TextAt(client_config, {"service", "namespace"});
  target.service_name = TextAt(client_config, {"service", "name"});
  target.service_path = TextAt(client_config, {"service", "path"});
  target.service_port = static_cast<int>(IntAt(client_config, {"service", "port"}, 443));
  target.ca_pem = Base64Decode(TextAt(client_config, {"caBundle"})).value_or("");
  return target;
}

std::string WebhookQuestion::Text() const {
  const auto dump = [](const Json& json) { return api::FormatJson(json); };
  // Members are sorted: the text ends with the closing braces of the request and the review.
  std::string text = dump(envelope);
  if (object == nullptr && old_object == nullptr) return text;
  text.resize(text.size() - 2);
  if (object != nullptr) text += R"(,"object":)" + dump(*object);
  if (old_object != nullptr) text += R"(,"oldObject":)" + dump(*old_object);
  return text + "}}";
}

Json WebhookQuestion::Whole() const {
  Json whole = envelope;
  if (object != nullptr) whole["request"]["object"] = *object;
  if (old_object != nullptr) whole["request"]["oldObject"] = *old_object;
  return whole;
}

ApiResult<Json> Converter::ConvertOne(const ResourceInfo& resource, Json object,
                                      const std::string& api_version) const {
  std::vector<Json> one;
  one.push_back(std::move(object));
  auto converted = Convert(resource, std::move(one), api_version);
  if (!converted) return converted.error();
  return std::move(converted->front());
}

ApiResult<std::vector<Json>> Converter::Convert(const ResourceInfo& resource,
                                                std::vector<Json> objects,
                                                const std::string& api_version) const {
  std::vector<std::size_t> places;
  std::vector<Json> others;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (TextAt(objects[i], {"apiVersion"}) == api_version) continue;
    places.push_back(i);
    others.push_back(objects[i]);
  }
  if (others.empty()) return objects;
  if (resource.storage == "events") {
    for (const std::size_t i : places) ConvertEvent(objects[i], api_version);
    return objects;
  }
  if (resource.storage == kAutoscalers) {
    for (const std::size_t i : places) ConvertAutoscaler(objects[i], api_version);
    return objects;
  }
  if (resource.crd == nullptr || !resource.crd->conversion.webhook) {
    for (const std::size_t i : places) objects[i]["apiVersion"] = api_version;
    return objects;
  }
  auto converted = CallWebhook(resource, others, api_version);
  if (!converted) return converted.error();
  for (std::size_t i = 0; i < places.size(); ++i) {
    objects[places[i]] = std::move((*converted)[i]);
  }
  return objects;
}

std::optional<ApiError> Converter::ToStorageVersion(const ResourceInfo& resource,
                                                    Json& object) const {
  if (IsStorageVersion(resource)) return std::nullopt;
  auto converted = ConvertOne(resource, std::move(object), StoredVersion(resource));
  if (!converted) return converted.error();
  object = std::move(*converted);
  if (resource.crd == nullptr) return std::nullopt;
  const auto version = resource.crd->versions.find(resource.crd->storage_version);
  if (version != resource.crd->versions.end() && version->second.schema != nullptr) {
    version->second.schema->Prune(object);
    version->second.schema->Default(object);
  }
  return std::nullopt;
}

ApiResult<StoredPtr> Converter::ToVersion(const ResourceInfo& resource,
                                          const StoredPtr& object) const {
  if (!NeedsShaping(resource, *object)) return object;
  const Object json = object->json();
  if (json == nullptr) return InternalStatus("the stored object cannot be read");
  auto converted = ConvertOne(resource, *json, resource.api_version());
  if (!converted) return converted.error();
  Present(resource, *converted);
  return StoredPtr(std::make_shared<const StoredObject>(
      object->key(), object->revision(), StoredObject::MakeDraft(std::move(*converted))));
}

std::optional<ApiError> Converter::ToVersion(const ResourceInfo& resource,
                                             std::vector<StoredPtr>& objects) const {
  std::vector<std::size_t> places;
  std::vector<Json> others;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!NeedsShaping(resource, *objects[i])) continue;
    const Object json = objects[i]->json();
    if (json == nullptr) return InternalStatus("a stored object cannot be read");
    places.push_back(i);
    others.push_back(*json);
  }
  if (others.empty()) return std::nullopt;
  auto converted = Convert(resource, std::move(others), resource.api_version());
  if (!converted) return converted.error();
  for (std::size_t k = 0; k < places.size(); ++k) {
    StoredPtr& item = objects[places[k]];
    Json object = std::move((*converted)[k]);
    Present(resource, object);
    item = std::make_shared<const StoredObject>(item->key(), item->revision(),
                                                StoredObject::MakeDraft(std::move(object)));
  }
  return std::nullopt;
}

ApiResult<std::vector<Json>> Converter::CallWebhook(const ResourceInfo& resource,
                                                    const std::vector<Json>& objects,
                                                    const std::string& api_version) const {
  const std::string from = TextAt(objects.front(), {"apiVersion"});
  if (webhooks_ == nullptr) return Failed(resource, from, "webhooks are not called here");
  const CrdConversion& conversion = resource.crd->conversion;
  const WebhookTarget target{conversion.url,          conversion.service_namespace,
                             conversion.service_name, conversion.service_path,
                             conversion.service_port, conversion.ca_pem};
  const std::string uid = UidOf(objects.front()).empty() ? "conversion" : UidOf(objects.front());
  WebhookQuestion question;
  question.envelope = {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "ConversionReview"},
      {"request", {{"uid", uid}, {"desiredAPIVersion", api_version}, {"objects", objects}}}};
  auto answer = webhooks_->Call(target, question, kTimeout, nullptr);
  if (!answer) return Failed(resource, from, answer.error().message);
  const Json* response = Member(*answer, "response");
  if (response == nullptr) return Failed(resource, from, "the answer has no response");
  if (TextAt(*response, {"uid"}) != uid) {
    return Failed(resource, from, "expected response.uid=\"" + uid + "\"");
  }
  if (TextAt(*response, {"result", "status"}) != "Success") {
    return Failed(resource, from, TextAt(*response, {"result", "message"}));
  }
  const Json& converted = ArrayAt(*response, {"convertedObjects"});
  if (converted.size() != objects.size()) {
    return Failed(resource, from,
                  "expected " + std::to_string(objects.size()) + " converted objects, got " +
                      std::to_string(converted.size()));
  }
  std::vector<Json> result;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (TextAt(converted[i], {"apiVersion"}) != api_version) {
      return Failed(resource, from, "an object came back in another version");
    }
    if (!SameIdentity(converted[i], objects[i])) {
      return Failed(resource, from, "name, namespace or uid of an object have changed");
    }
    result.push_back(converted[i]);
  }
  return result;
}

}  // namespace berth::local
