// local/apiserver/api.h — the embedded Kubernetes API as function calls, for components of `berth
// up`: Job controller, pod binder, garbage collector, executors, emulated cloud.
//
// A call passes the pipeline of an HTTP request (defaulting, webhooks, validation, managedFields).
// Objects are plain JSON with apiVersion and kind.
//
// Threads: every function may be called from any thread and may block (webhooks, the disk). A write
// is on the disk when its call returns, unless it uses WriteWait::kSubmitted. Watch callbacks run
// on one thread, in the order of resourceVersion; they must be quick and must not call the Api.
// Errors: ApiError, a Kubernetes Status: decide by `reason`.
// Source: Kubernetes API concepts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/assert.h"

namespace berth::local {

using Json = nlohmann::json;

// A resource in a URL: /apis/batch/v1/…/jobs is {"batch", "v1", "jobs"}; core has the group "".
struct ResourceId {
  std::string group;
  std::string version;
  std::string resource;  // plural
  friend auto operator<=>(const ResourceId&, const ResourceId&) = default;
};

struct ApiError {
  int code = 500;
  std::string reason;  // "NotFound", "AlreadyExists", "Conflict", "Invalid", …
  std::string message;
  Json details;                     // Status.details, or null
  std::string continue_token = {};  // Status.metadata.continue of an expired list; "": none
};

template <typename T>
class [[nodiscard]] ApiResult {
 public:
  ApiResult(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT
  ApiResult(ApiError error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const ApiError& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, ApiError> state_;
};

using Object = std::shared_ptr<const Json>;  // immutable once shared

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
};

struct ObjectList {
  std::vector<Object> items;
  std::string resource_version;
};

enum class PatchType { kJson, kMerge, kStrategic, kApply };

// kSubmitted: the call returns before the write is on the disk, for writes that a crash may lose;
// it fails only for errors of the write itself.
enum class WriteWait { kDurable, kSubmitted };

struct WriteOptions {
  std::string field_manager;  // required for kApply
  bool force = false;         // for kApply: takes fields from other managers
  bool dry_run = false;
  std::string subresource;  // "", "status", "binding", "scale", …
  WriteWait wait = WriteWait::kDurable;
};

struct DeleteOptions {
  std::string propagation_policy;          // "", "Background", "Foreground", "Orphan"
  std::int64_t grace_period_seconds = -1;  // -1: the kind's default
  std::string precondition_uid;
  std::string precondition_resource_version;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  Object object;    // for kDeleted: the last state, with the deletion's resourceVersion
  Object previous;  // null for kAdded
};

// Ends the watch when destroyed; no callback runs after the destructor has returned.
class WatchHandle {
 public:
  virtual ~WatchHandle() = default;
};

enum class WatchFrom : std::uint8_t {
  kState,     // the whole state as kAdded events, then the changes
  kMetadata,  // kState, but objects of the state may lack all but apiVersion, kind and metadata
  kNow,       // the changes that follow the call; objects that have not changed may come, too
};

class Api {
 public:
  virtual ~Api() = default;

  virtual ApiResult<Object> Get(const ResourceId& resource, const std::string& namespace_name,
                                const std::string& name) = 0;
  // An empty namespace lists all namespaces.
  virtual ApiResult<ObjectList> List(const ResourceId& resource, const std::string& namespace_name,
                                     const ListOptions& options) = 0;
  virtual ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                                   Json object, const WriteOptions& options) = 0;
  virtual ApiResult<Object> Update(const ResourceId& resource, const std::string& namespace_name,
                                   const std::string& name, Json object,
                                   const WriteOptions& options) = 0;
  virtual ApiResult<Object> Patch(const ResourceId& resource, const std::string& namespace_name,
                                  const std::string& name, PatchType type, const Json& patch,
                                  const WriteOptions& options) = 0;
  virtual ApiResult<Object> Delete(const ResourceId& resource, const std::string& namespace_name,
                                   const std::string& name, const DeleteOptions& options) = 0;

  // Delivers what `from` says, without a gap.
  virtual std::unique_ptr<WatchHandle> Watch(const ResourceId& resource, WatchFrom from,
                                             std::function<void(const WatchEvent&)> on_event) = 0;
};

// An Api that also lists and watches all its kinds: the embedded one.
class WholeApi : public Api {
 public:
  // Every kind that can be listed and deleted, custom ones included; for garbage collection and
  // namespace deletion.
  struct KindInfo {
    ResourceId id;
    std::string kind;
    bool namespaced = true;
  };
  virtual std::vector<KindInfo> Kinds() = 0;
  // Watches every kind, as Watch does for one kind.
  virtual std::unique_ptr<WatchHandle> WatchAll(
      WatchFrom from, std::function<void(const ResourceId&, const WatchEvent&)> on_event) = 0;
};

}  // namespace berth::local
