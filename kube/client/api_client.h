// kube/client/api_client.h — the verbs of a Kubernetes API on JSON objects.
//
// Every request has a timeout. Answers 429, and 503 with a delay, mean "nothing happened": the
// request is repeated after the server's delay, within the timeout. The client repeats no other
// request: only the caller knows whether its write may be repeated.
//
// Threads: one Executor, that of its Transport. Destroy it on that Executor, or after that Executor
// has stopped; callbacks of open requests are dropped then.
// Errors: by Status.reason, see status_error.h; the message is the server's.
// Source: Kubernetes API concepts; server-side apply.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/codec/kinds.h"
#include "api/object_meta.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/client/transport.h"

namespace berth::kube {

enum class PatchType {
  kJson,   // RFC 6902
  kMerge,  // RFC 7396
  kApply,  // server-side apply; WriteOptions::field_manager is required
};

enum class Force { kNo, kYes };

struct WriteOptions {
  std::string field_manager = "berth";
  Force force = Force::kNo;  // for kApply; kYes: takes fields over from other managers
  std::string subresource;   // "", "status", "binding", …
};

struct DeleteOptions {
  std::string propagation_policy;  // "": the kind's default; Background, Foreground, Orphan
  // The object is deleted only if it has these values, else the error is kConflict; empty: no
  // precondition.
  std::string precondition_uid;
  std::string precondition_resource_version;
};

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;  // 0: all objects in one answer
};

struct ObjectList {
  std::vector<JsonPtr> items;
  std::string resource_version;
};

// The callbacks of ListPages. A page is delivered while the next page is requested.
struct PageCallbacks {
  // Called before the first page, and again when the list starts over: earlier pages are void then.
  std::function<void()> on_start;
  std::function<void(const std::vector<ReadObject>& items)> on_page;
  std::function<void(Result<std::string> resource_version)> on_end;  // called once
};

struct WatchOptions {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;        // the watch delivers events after this version
  std::chrono::seconds lifetime{300};  // requested of the server, which ends the watch then
  // The longest time without a byte before the watch ends with kDeadlineExceeded.
  Duration silence = std::chrono::seconds(90);
};

class ApiClient {
 public:
  using Done = std::function<void(Result<JsonPtr>)>;

  struct Options {
    Duration request_timeout = std::chrono::seconds(30);
    Duration list_timeout = std::chrono::seconds(60);  // the limit of each page
  };

  ApiClient(Transport& transport, Executor& executor, Options options);
  ApiClient(Transport& transport, Executor& executor) : ApiClient(transport, executor, Options{}) {}
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  void Get(const api::ResourceKind& kind, const api::ObjectKey& key, Done done);
  // An empty namespace lists all namespaces. Pages are joined. If a page has expired, the list goes
  // on with newer pages if the server offers them ("inconsistent continuation token" of the
  // Kubernetes API concepts), else it starts again, at most once, unpaged. The resourceVersion is
  // that of the oldest page: a watch from there delivers all later events.
  void List(const api::ResourceKind& kind, const std::string& namespace_name,
            const ListOptions& options, std::function<void(Result<ObjectList>)> done);
  // List without joining pages, for collections of any length. Builds no JSON tree where the
  // transport can avoid it.
  void ListPages(const api::ResourceKind& kind, const std::string& namespace_name,
                 const ListOptions& options, std::shared_ptr<const ObjectReader> reader,
                 PageCallbacks callbacks);
  // Gets the resourceVersion of the collection at this moment. `options.page_size` is ignored.
  void NewestVersion(const api::ResourceKind& kind, const std::string& namespace_name,
                     const ListOptions& options, std::function<void(Result<std::string>)> done);
  // `object` must carry apiVersion, kind and metadata.name or generateName.
  void Create(const api::ResourceKind& kind, const std::string& namespace_name, Json object,
              const WriteOptions& options, Done done);
  // Replaces the object. If `object` has a metadata.resourceVersion that is not the stored one, the
  // error is kConflict.
  void Update(const api::ResourceKind& kind, const api::ObjectKey& key, Json object,
              const WriteOptions& options, Done done);
  void Patch(const api::ResourceKind& kind, const api::ObjectKey& key, PatchType type, Json patch,
             const WriteOptions& options, Done done);
  // Patches, and reads the object in the answer with `reader`: no JSON tree is built where the
  // transport can avoid it. `object` is null where the answer has no object.
  void PatchAndRead(const api::ResourceKind& kind, const api::ObjectKey& key, PatchType type,
                    JsonPtr patch, const WriteOptions& options,
                    std::shared_ptr<const ObjectReader> reader,
                    std::function<void(Result<ReadObject>)> done);
  void Delete(const api::ResourceKind& kind, const api::ObjectKey& key,
              const DeleteOptions& options, std::function<void(Status)> done);
  std::unique_ptr<WatchHandle> Watch(const api::ResourceKind& kind,
                                     const std::string& namespace_name, const WatchOptions& options,
                                     WatchCallbacks callbacks,
                                     std::shared_ptr<const ObjectReader> reader = nullptr);
  // Sends a GET for any path: "/version", "/apis/…/pods/p/log".
  void GetRaw(const std::string& path, std::function<void(Result<ApiResponse>)> done);

  Executor& executor() { return executor_; }

 private:
  struct Listing;
  struct Pending;

  using OnResponse = std::function<void(Result<ApiResponse>)>;

  void Send(ApiRequest request, Duration timeout, Done done);
  void SendForResponse(ApiRequest request, Duration timeout, OnResponse done);
  void SendOnce(const std::shared_ptr<Pending>& pending, Duration timeout);
  void StartListing(const api::ResourceKind& kind, const std::string& namespace_name,
                    const ListOptions& options, const std::shared_ptr<Listing>& listing);
  void NextPage(const std::shared_ptr<Listing>& listing);
  void GoOn(const std::shared_ptr<Listing>& listing, const ApiResponse& expired);

  Transport& transport_;
  Executor& executor_;
  Options options_;
  std::shared_ptr<ApiClient*> self_;  // weak copies in callbacks: null after destruction
};

// "/apis/batch/v1/namespaces/a/jobs"; an empty namespace gives the path of the whole cluster.
std::string CollectionPath(const api::ResourceKind& kind, const std::string& namespace_name);
// "…/jobs/b/status"
std::string ObjectPath(const api::ResourceKind& kind, const api::ObjectKey& key,
                       const std::string& subresource = "");
// Percent-encodes everything but unreserved characters.
std::string EscapeQuery(std::string_view text);

}  // namespace berth::kube
