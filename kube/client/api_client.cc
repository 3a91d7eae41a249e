#include "kube/client/api_client.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/percent.h"
#include "kube/client/status_error.h"

namespace berth::kube {
namespace {

constexpr int kMaxRepeats = 8;  // repetitions after a delay of the server
constexpr int kGone = 410;

std::string StringAt(const Json& object, const char* outer, const char* inner) {
  const auto found = object.find(outer);
  if (found == object.end() || !found->is_object()) return {};
  const auto text = found->find(inner);
  return text != found->end() && text->is_string() ? text->get<std::string>() : std::string();
}

void AddQuery(std::string& path, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += key;
  path += '=';
  path += EscapeQuery(value);
}

const char* ContentType(PatchType type) {
  switch (type) {
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kApply: return "application/apply-patch+yaml";  // JSON is YAML
  }
  return "";
}

// The continue token and the resourceVersion of a page.
struct PageHead {
  std::string resource_version;
  std::string continue_token;
};

std::optional<PageHead> HeadOf(const ApiResponse& response) {
  if (response.page)
    return PageHead{response.page->resource_version, response.page->continue_token};
  if (response.body == nullptr || !response.body->is_object()) return std::nullopt;
  return PageHead{StringAt(*response.body, "metadata", "resourceVersion"),
                  StringAt(*response.body, "metadata", "continue")};
}

// Calls `take` with each item of a list as JSON.
template <typename Fn>
void EachItem(const Json& list, Fn take) {
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return;
  for (const Json& item : *items) take(item);
}

void SetIfGiven(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

std::string PatchPath(const api::ResourceKind& kind, const api::ObjectKey& key, PatchType type,
                      const WriteOptions& options) {
  std::string path = ObjectPath(kind, key, options.subresource);
  AddQuery(path, "fieldManager", options.field_manager);
  if (type == PatchType::kApply && options.force == Force::kYes) AddQuery(path, "force", "true");
  return path;
}

}  // namespace

std::string EscapeQuery(std::string_view text) { return PercentEncode(text, "-._~"); }

std::string CollectionPath(const api::ResourceKind& kind, const std::string& namespace_name) {
  std::string path = kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/";
  path += kind.version;
  if (kind.namespaced && !namespace_name.empty()) {
    path += "/namespaces/" + EscapeQuery(namespace_name);
  }
  path += '/';
  path += kind.plural;
  return path;
}

std::string ObjectPath(const api::ResourceKind& kind, const api::ObjectKey& key,
                       const std::string& subresource) {
  std::string path = CollectionPath(kind, key.namespace_name) + "/" + EscapeQuery(key.name);
  if (!subresource.empty()) path += "/" + subresource;
  return path;
}

struct ApiClient::Pending {
  ApiRequest request;
  OnResponse done;
  int answers_too = 0;  // a status that the caller handles itself
  int repeats = 0;
};

struct ApiClient::Listing {
  std::string path;  // without limit and continue
  int page_size = 0;
  std::string continue_token;
  std::string resource_version;  // the version of the oldest page
  int restarts = 0;
  bool went_on = false;  // continued with a new token, no page since
  std::shared_ptr<const ObjectReader> reader;
  std::function<void()> on_start;
  std::function<void(const ApiResponse&)> on_page;
  std::function<void(Result<std::string>)> on_end;
};

ApiClient::ApiClient(Transport& transport, Executor& executor, Options options)
    : transport_(transport),
      executor_(executor),
      options_(options),
      self_(std::make_shared<ApiClient*>(this)) {}

ApiClient::~ApiClient() = default;

void ApiClient::Send(ApiRequest request, Duration timeout, Done done) {
  SendForResponse(
      std::move(request), timeout, [done = std::move(done)](const Result<ApiResponse>& response) {
        done(response ? Result<JsonPtr>(response->body) : Result<JsonPtr>(response.error()));
      });
}

void ApiClient::SendForResponse(ApiRequest request, Duration timeout, OnResponse done) {
  auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  pending->done = std::move(done);
  SendOnce(pending, timeout);
}

void ApiClient::SendOnce(const std::shared_ptr<Pending>& pending, Duration timeout) {
  const std::weak_ptr<ApiClient*> weak = self_;
  transport_.Send(
      pending->request, timeout, [weak, pending, timeout](Result<ApiResponse> response) {
        const std::shared_ptr<ApiClient*> self = weak.lock();
        if (self == nullptr) return;
        if (!response) return pending->done(response.error());
        if (response->status < 400 || response->status == pending->answers_too) {
          return pending->done(std::move(response));
        }
        const bool put_off =
            response->status == 429 || (response->status == 503 && response->retry_after);
        const Duration wait = response->retry_after.value_or(std::chrono::seconds(1));
        if (!put_off || pending->repeats >= kMaxRepeats || wait >= timeout) {
          return pending->done(ErrorFromStatus(response->status, response->body.get()));
        }
        ++pending->repeats;
        (*self)->executor_.PostAfter(wait, [weak, pending, left = timeout - wait] {
          if (const auto still = weak.lock()) (*still)->SendOnce(pending, left);
        });
      });
}

void ApiClient::Get(const api::ResourceKind& kind, const api::ObjectKey& key, Done done) {
  Send({"GET", ObjectPath(kind, key), "", nullptr}, options_.request_timeout, std::move(done));
}

void ApiClient::GetRaw(const std::string& path, std::function<void(Result<ApiResponse>)> done) {
  transport_.Send({"GET", path, "", nullptr}, options_.request_timeout,
                  [weak = std::weak_ptr(self_), done = std::move(done)](Result<ApiResponse> got) {
                    if (weak.expired()) return;
                    if (got && got->status >= 400) {
                      return done(ErrorFromStatus(got->status, got->body.get()));
                    }
                    done(std::move(got));
                  });
}

void ApiClient::List(const api::ResourceKind& kind, const std::string& namespace_name,
                     const ListOptions& options, std::function<void(Result<ObjectList>)> done) {
  auto listing = std::make_shared<Listing>();
  auto list = std::make_shared<ObjectList>();
  listing->on_start = [list] { list->items.clear(); };
  listing->on_page = [list](const ApiResponse& page) {
    EachItem(*page.body, [&](const Json& item) {
      list->items.emplace_back(page.body, &item);  // shares the page, no copy
    });
  };
  listing->on_end = [list, done = std::move(done)](const Result<std::string>& version) {
    if (!version) return done(version.error());
    list->resource_version = *version;
    done(std::move(*list));
  };
  StartListing(kind, namespace_name, options, listing);
}

void ApiClient::ListPages(const api::ResourceKind& kind, const std::string& namespace_name,
                          const ListOptions& options, std::shared_ptr<const ObjectReader> reader,
                          PageCallbacks callbacks) {
  auto listing = std::make_shared<Listing>();
  listing->reader = std::move(reader);
  listing->on_start = std::move(callbacks.on_start);
  listing->on_page = [on_page = std::move(callbacks.on_page),
                      reader = listing->reader](const ApiResponse& page) {
    if (page.page) return on_page(page.page->items);
    std::vector<ReadObject> items;
    EachItem(*page.body, [&](const Json& item) { items.push_back(reader->Read(item)); });
    on_page(items);
  };
  listing->on_end = std::move(callbacks.on_end);
  StartListing(kind, namespace_name, options, listing);
}

void ApiClient::NewestVersion(const api::ResourceKind& kind, const std::string& namespace_name,
                              const ListOptions& options,
                              std::function<void(Result<std::string>)> done) {
  std::string path = CollectionPath(kind, namespace_name);
  AddQuery(path, "labelSelector", options.label_selector);
  AddQuery(path, "fieldSelector", options.field_selector);
  AddQuery(path, "limit", "1");
  GetRaw(path, [path, done = std::move(done)](const Result<ApiResponse>& answer) {
    if (!answer) return done(answer.error());
    const std::optional<PageHead> head = HeadOf(*answer);
    if (!head || head->resource_version.empty()) {
      return done(Error{ErrorCode::kUnavailable, "the answer to GET " + path + " is no list"});
    }
    done(head->resource_version);
  });
}

void ApiClient::StartListing(const api::ResourceKind& kind, const std::string& namespace_name,
                             const ListOptions& options, const std::shared_ptr<Listing>& listing) {
  listing->path = CollectionPath(kind, namespace_name);
  AddQuery(listing->path, "labelSelector", options.label_selector);
  AddQuery(listing->path, "fieldSelector", options.field_selector);
  listing->page_size = options.page_size;
  listing->on_start();
  NextPage(listing);
}

void ApiClient::NextPage(const std::shared_ptr<Listing>& listing) {
  std::string path = listing->path;
  if (listing->page_size > 0) AddQuery(path, "limit", std::to_string(listing->page_size));
  AddQuery(path, "continue", listing->continue_token);
  auto pending = std::make_shared<Pending>();
  pending->request = {"GET", path, "", nullptr, listing->reader};
  pending->answers_too = kGone;
  pending->done = [this, listing](const Result<ApiResponse>& page) {
    if (!page) return listing->on_end(page.error());
    if (page->status == kGone) return GoOn(listing, *page);
    const std::optional<PageHead> head = HeadOf(*page);
    if (!head) {
      return listing->on_end(Error{ErrorCode::kInternal, "the API server's list is not JSON"});
    }
    listing->continue_token = head->continue_token;
    listing->went_on = false;
    if (listing->resource_version.empty()) listing->resource_version = head->resource_version;
    const bool last = head->continue_token.empty();
    if (!last) NextPage(listing);  // requested while this one is delivered
    listing->on_page(*page);
    if (last) listing->on_end(listing->resource_version);
  };
  SendOnce(pending, options_.list_timeout);
}

// The state at the start of the list has expired.
void ApiClient::GoOn(const std::shared_ptr<Listing>& listing, const ApiResponse& expired) {
  const std::optional<PageHead> head = HeadOf(expired);
  const bool began = !listing->resource_version.empty();
  if (began && !listing->went_on && head && !head->continue_token.empty()) {
    listing->went_on = true;
    listing->continue_token = head->continue_token;
    return NextPage(listing);
  }
  if (listing->restarts == 2) {
    return listing->on_end(ErrorFromStatus(expired.status, expired.body.get()));
  }
  if (++listing->restarts == 2) listing->page_size = 0;
  listing->continue_token.clear();
  listing->resource_version.clear();
  listing->went_on = false;
  listing->on_start();
  NextPage(listing);
}

void ApiClient::Create(const api::ResourceKind& kind, const std::string& namespace_name,
                       Json object, const WriteOptions& options, Done done) {
  std::string path = CollectionPath(kind, namespace_name);
  AddQuery(path, "fieldManager", options.field_manager);
  Send({"POST", path, "application/json", std::make_shared<const Json>(std::move(object))},
       options_.request_timeout, std::move(done));
}

void ApiClient::Update(const api::ResourceKind& kind, const api::ObjectKey& key, Json object,
                       const WriteOptions& options, Done done) {
  std::string path = ObjectPath(kind, key, options.subresource);
  AddQuery(path, "fieldManager", options.field_manager);
  Send({"PUT", path, "application/json", std::make_shared<const Json>(std::move(object))},
       options_.request_timeout, std::move(done));
}

void ApiClient::Patch(const api::ResourceKind& kind, const api::ObjectKey& key, PatchType type,
                      Json patch, const WriteOptions& options, Done done) {
  Send({"PATCH", PatchPath(kind, key, type, options), ContentType(type),
        std::make_shared<const Json>(std::move(patch))},
       options_.request_timeout, std::move(done));
}

void ApiClient::PatchAndRead(const api::ResourceKind& kind, const api::ObjectKey& key,
                             PatchType type, JsonPtr patch, const WriteOptions& options,
                             std::shared_ptr<const ObjectReader> reader,
                             std::function<void(Result<ReadObject>)> done) {
  SendForResponse(
      {"PATCH", PatchPath(kind, key, type, options), ContentType(type), std::move(patch), reader},
      options_.request_timeout, [reader, done = std::move(done)](Result<ApiResponse> response) {
        if (!response) return done(response.error());
        if (response->read) return done(*std::move(response->read));
        done(response->body == nullptr ? ReadObject{} : reader->Read(*response->body));
      });
}

void ApiClient::Delete(const api::ResourceKind& kind, const api::ObjectKey& key,
                       const DeleteOptions& options, std::function<void(Status)> done) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  SetIfGiven(body, "propagationPolicy", options.propagation_policy);
  if (!options.precondition_uid.empty() || !options.precondition_resource_version.empty()) {
    Json& preconditions = body["preconditions"];
    SetIfGiven(preconditions, "uid", options.precondition_uid);
    SetIfGiven(preconditions, "resourceVersion", options.precondition_resource_version);
  }
  Send({"DELETE", ObjectPath(kind, key), "application/json",
        std::make_shared<const Json>(std::move(body))},
       options_.request_timeout, [done = std::move(done)](Result<JsonPtr> answer) {
         done(answer ? OkStatus() : Status(answer.error()));
       });
}

std::unique_ptr<WatchHandle> ApiClient::Watch(const api::ResourceKind& kind,
                                              const std::string& namespace_name,
                                              const WatchOptions& options, WatchCallbacks callbacks,
                                              std::shared_ptr<const ObjectReader> reader) {
  std::string path = CollectionPath(kind, namespace_name);
  AddQuery(path, "watch", "true");
  AddQuery(path, "allowWatchBookmarks", "true");
  AddQuery(path, "resourceVersion", options.resource_version);
  AddQuery(path, "timeoutSeconds", std::to_string(options.lifetime.count()));
  AddQuery(path, "labelSelector", options.label_selector);
  AddQuery(path, "fieldSelector", options.field_selector);
  return transport_.Watch({"GET", path, "", nullptr, std::move(reader)}, options.silence,
                          std::move(callbacks));
}

}  // namespace berth::kube
