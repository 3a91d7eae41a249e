#include "tests/support/registry_transport.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "base/assert.h"
#include "base/strings.h"
#include "local/apiserver/http/target.h"
#include "scenarios/world/embedded_api.h"
#include "scenarios/world/sim_request.h"
#include "scenarios/world/sim_transport.h"

namespace berth::kube {
namespace {

constexpr char kMergePatch[] = "application/merge-patch+json";

ApiResponse Refuse(int status, const std::string& reason, const std::string& message) {
  ApiResponse response;
  response.status = status;
  response.body = std::make_shared<const Json>(Json{{"kind", "Status"},
                                                    {"status", "Failure"},
                                                    {"code", status},
                                                    {"reason", reason},
                                                    {"message", message}});
  return response;
}

bool InCollection(const std::string& path, const std::string& collection) {
  const std::string parent = path.substr(0, path.rfind('/'));
  if (parent == collection || path == collection) return true;
  // A collection over all namespaces: /apis/g/v/jobs has /apis/g/v/namespaces/n/jobs/j.
  const std::string root = collection.substr(0, collection.rfind('/'));
  const std::string plural = collection.substr(collection.rfind('/'));
  return path.starts_with(root + "/namespaces/") &&
         (parent.ends_with(plural) || path.ends_with(plural));
}

}  // namespace

// Ends a watch that never reached the API.
class RegistryTransport::EndedWatch final : public WatchHandle {
 public:
  explicit EndedWatch(std::shared_ptr<bool> alive) : alive_(std::move(alive)) {}

 private:
  std::shared_ptr<bool> alive_;
};

RegistryTransport::RegistryTransport(SimExecutor& executor, FakeClock& clock)
    : executor_(executor) {
  auto started = EmbeddedApi::Start(clock, {.deliver_on = &executor});
  BERTH_ASSERT(started.has_value());
  embedded_ = *std::move(started);
  inner_ = std::make_unique<sim::SimTransport>(embedded_->registry(), executor,
                                               sim::SimTransportOptions{.latency = latency_});
}

RegistryTransport::~RegistryTransport() = default;

ApiResponse RegistryTransport::Answer(const std::string& method, const std::string& path,
                                      JsonPtr body, const std::string& content_type) const {
  return sim::Answer(embedded_->registry(), {method, path, content_type, std::move(body)});
}

Json RegistryTransport::Demand(const std::string& method, const std::string& path, Json body,
                               const std::string& content_type) {
  const ApiResponse response =
      Answer(method, path, std::make_shared<const Json>(std::move(body)), content_type);
  const Json answer = response.body == nullptr ? Json() : *response.body;
  if (response.status >= 300) {
    ADD_FAILURE() << method << " " << path << ": " << answer.value("message", "");
  }
  return answer;
}

void RegistryTransport::Send(ApiRequest request, Duration timeout,
                             std::function<void(Result<ApiResponse>)> done) {
  const Duration wait = std::min(latency_, timeout);
  const bool late = latency_ > timeout;
  executor_.PostAfter(wait, [this, late, request = std::move(request), done = std::move(done)] {
    const std::string text = request.method + " " + request.path;
    const auto failure = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& f) {
      return text.find(f.what) != std::string::npos;
    });
    if (failure == failures_.end()) {
      ApiResponse response = Respond(request);
      if (late) return done(Error{ErrorCode::kDeadlineExceeded, "no answer in time"});
      return done(std::move(response));
    }
    const Failure fault = *failure;
    failures_.erase(failure);
    if (fault.effect == Effect::kDone) Respond(request);
    if (fault.status == 0) return done(Error{fault.code, "fault ordered by the test"});
    ApiResponse response = Refuse(fault.status, "", "fault ordered by the test");
    response.retry_after = retry_after_;
    done(std::move(response));
  });
}

ApiResponse RegistryTransport::Respond(const ApiRequest& request) {
  const std::size_t mark = request.path.find('?');
  const std::string path = request.path.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : request.path.substr(mark + 1);
  requests_.push_back({request.method, path, query, request.body ? *request.body : Json()});
  for (const std::string& collection : missing_) {
    if (InCollection(path, collection)) {
      return Refuse(404, "NotFound", "the server could not find the requested resource");
    }
  }
  return sim::Answer(embedded_->registry(), request);
}

void RegistryTransport::EnsureNamespace(const std::string& name) {
  const std::string path = "/api/v1/namespaces";
  if (name.empty() || Answer("GET", path + "/" + name).status == 200) return;
  Demand("POST", path,
         {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
}

Json RegistryTransport::Put(const std::string& collection, Json object) {
  const auto target = local::ParseTarget(collection);
  BERTH_ASSERT(target.has_value());
  const auto context = sim::ContextOf(embedded_->registry(), *target);
  if (!context) {
    ADD_FAILURE() << collection << ": " << context.error().message;
    return {};
  }
  const local::ResourceInfo& resource = *context->resource;
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  EnsureNamespace(context->namespace_name);
  const std::string path = collection + "/" + object["metadata"]["name"].get<std::string>();
  const bool has_status_door = resource.FindSubresource("status") != nullptr;
  const ApiResponse old = Answer("GET", path);
  Json left;
  if (old.status == 404) {
    left = Demand("POST", collection, object);
  } else {
    object["metadata"]["resourceVersion"] = old.body->at("metadata").at("resourceVersion");
    left = Demand("PUT", path, object);
  }
  const bool changes_status = has_status_door && left.value("status", Json::object()) !=
                                                     object.value("status", Json::object());
  if (!changes_status || (old.status == 404 && !object.contains("status"))) return left;
  object["metadata"] = left["metadata"];
  return Demand("PUT", path + "/status", std::move(object));
}

const Json* RegistryTransport::Find(const std::string& path) const {
  const ApiResponse response = Answer("GET", path);
  if (response.status != 200) return nullptr;
  JsonPtr& found = found_[path];
  found = response.body;
  return found.get();
}

void RegistryTransport::Remove(const std::string& path) {
  const Json* object = Find(path);
  if (object == nullptr) return;
  if ((*object)["metadata"].contains("finalizers")) {
    Demand("PATCH", path, {{"metadata", {{"finalizers", nullptr}}}}, kMergePatch);
  }
  if (Answer("GET", path).status != 200) return;
  Demand("DELETE", path,
         {{"apiVersion", "v1"},
          {"kind", "DeleteOptions"},
          {"gracePeriodSeconds", 0},
          {"propagationPolicy", "Background"}});
}

std::unique_ptr<WatchHandle> RegistryTransport::EndAtOnce(const Error& error,
                                                          WatchCallbacks callbacks) {
  auto alive = std::make_shared<bool>(true);
  executor_.PostAfter(latency_,
                      [error, callbacks = std::move(callbacks), open = std::weak_ptr<bool>(alive)] {
                        if (!open.expired()) callbacks.on_end(error);
                      });
  return std::make_unique<EndedWatch>(std::move(alive));
}

std::unique_ptr<WatchHandle> RegistryTransport::Watch(ApiRequest request, Duration silence,
                                                      WatchCallbacks callbacks) {
  ++watches_begun_;
  if (watch_refusal_) return EndAtOnce(*watch_refusal_, std::move(callbacks));
  const auto target = local::ParseTarget(request.path);
  const std::string from = target ? target->Get("resourceVersion") : "";
  if (ParseInt64(from).value_or(0) < compacted_) {
    return EndAtOnce(Error{ErrorCode::kExpired, "too old resource version"}, std::move(callbacks));
  }
  callbacks.on_event = [this, path = target ? target->path : "",
                        tell = std::move(callbacks.on_event)](WatchEvent event) {
    if (!muted_.contains(path)) tell(std::move(event));
  };
  return inner_->Watch(std::move(request), silence, std::move(callbacks));
}

void RegistryTransport::SetMissing(const std::string& collection, bool is_missing) {
  if (is_missing) {
    missing_.insert(collection);
  } else {
    missing_.erase(collection);
  }
}

void RegistryTransport::FailNext(const std::string& what, int status, Effect effect,
                                 ErrorCode code) {
  failures_.push_back({what, status, effect, code});
}

void RegistryTransport::DropWatches(const Status& status) { inner_->EndWatches(status); }

void RegistryTransport::CompactHistory() { compacted_ = embedded_->store().cache().revision(); }

void RegistryTransport::set_latency(Duration latency) {
  latency_ = latency;
  inner_->set_latency(latency);
}

std::size_t RegistryTransport::watch_count() const { return inner_->watch_count(); }

std::size_t RegistryTransport::CountWrites() const {
  return static_cast<std::size_t>(
      std::count_if(requests_.begin(), requests_.end(),
                    [](const Recorded& request) { return request.method != "GET"; }));
}

}  // namespace berth::kube
