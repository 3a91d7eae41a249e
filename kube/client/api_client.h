// kube/client/api_client.h — the verbs of a Kubernetes API on JSON objects.
//
// Every request has a timeout. 429, and 503 that names a delay, mean "nothing happened": they are
// repeated after the server's delay as long as the timeout allows. Nothing else is repeated here;
// who may repeat knows what the write meant.
//
// Threads: one Executor, as its Transport. Destroy it on that Executor, or when it has stopped;
// callbacks of open requests are then dropped.
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
  Force force = Force::kNo;  // kApply: take fields over from other managers
  std::string subresource;   // "", "status", "binding", …
};

struct DeleteOptions {
  std::string propagation_policy;  // "": the kind's default; Background, Foreground, Orphan
  std::string precondition_uid;
  std::string precondition_resource_version;
};

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  int page_size = 500;  // 0: all in one answer
};

struct ObjectList {
  std::vector<JsonPtr> items;
  std::string resource_version;
};

// A list page by page, each taken in while the next one is under way.
struct PageCallbacks {
  // Before the first page; again where the list starts over, and what came before is void.
  std::function<void()> on_start;
  std::function<void(const std::vector<ReadObject>& items)> on_page;
  std::function<void(Result<std::string> resource_version)> on_end;  // once
};

struct WatchOptions {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;        // events after this one
  std::chrono::seconds lifetime{300};  // asked of the server, which then ends the watch properly
  Duration silence = std::chrono::seconds(90);
};

class ApiClient {
 public:
  using Done = std::function<void(Result<JsonPtr>)>;

  struct Options {
    Duration request_timeout = std::chrono::seconds(30);
    Duration list_timeout = std::chrono::seconds(60);  // of each page
  };

  ApiClient(Transport& transport, Executor& executor, Options options);
  ApiClient(Transport& transport, Executor& executor) : ApiClient(transport, executor, Options{}) {}
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  void Get(const api::ResourceKind& kind, const api::ObjectKey& key, Done done);
  // An empty namespace lists all of them. Pages are joined; where one has expired meanwhile, the
  // list goes on with newer pages if the server offers that ("inconsistent continuation token" of
  // the Kubernetes API concepts), else it starts again, the second time unpaged and for the last
  // time. The version is that of the oldest page: a watch from there tells what came after it.
  void List(const api::ResourceKind& kind, const std::string& namespace_name,
            const ListOptions& options, std::function<void(Result<ObjectList>)> done);
  // The same for lists of any length: nothing is kept here, and no JSON tree is built where the
  // transport can do without.
  void ListPages(const api::ResourceKind& kind, const std::string& namespace_name,
                 const ListOptions& options, std::shared_ptr<const ObjectReader> reader,
                 PageCallbacks callbacks);
  // `object` must carry apiVersion, kind and metadata.name or generateName.
  void Create(const api::ResourceKind& kind, const std::string& namespace_name, Json object,
              const WriteOptions& options, Done done);
  // Replaces the object; carries metadata.resourceVersion to be safe against races.
  void Update(const api::ResourceKind& kind, const api::ObjectKey& key, Json object,
              const WriteOptions& options, Done done);
  void Patch(const api::ResourceKind& kind, const api::ObjectKey& key, PatchType type, Json patch,
             const WriteOptions& options, Done done);
  void Delete(const api::ResourceKind& kind, const api::ObjectKey& key,
              const DeleteOptions& options, std::function<void(Status)> done);
  std::unique_ptr<WatchHandle> Watch(const api::ResourceKind& kind,
                                     const std::string& namespace_name, const WatchOptions& options,
                                     WatchCallbacks callbacks,
                                     std::shared_ptr<const ObjectReader> reader = nullptr);
  // Any path: "/version", "/apis/…/pods/p/log".
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
  std::shared_ptr<ApiClient*> self_;  // weak copies in callbacks: null once this is gone
};

// "/apis/batch/v1/namespaces/a/jobs"; for an empty namespace the collection of the whole cluster.
std::string CollectionPath(const api::ResourceKind& kind, const std::string& namespace_name);
// "…/jobs/b/status"
std::string ObjectPath(const api::ResourceKind& kind, const api::ObjectKey& key,
                       const std::string& subresource = "");
// Percent-encodes everything but unreserved characters.
std::string EscapeQuery(std::string_view text);

}  // namespace berth::kube
