// tests/local/support/fake_api.h — a Kubernetes API in memory, just enough for the controllers:
// uids, resourceVersions and conflicts, generation, status subresource, finalizers, graceful
// deletion of pods, propagation policies, pod binding, watches, merge patches.
//
// No validation and next to no defaulting: tests write whole objects. Watch callbacks run inside
// the write that causes them. One thread only, except that a real executor may be behind it: every
// call takes one lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::test {

class FakeApi final : public WholeApi {
 public:
  explicit FakeApi(const Clock& clock);
  ~FakeApi() override;

  ApiResult<Object> Get(const ResourceId& resource, const std::string& namespace_name,
                        const std::string& name) override;
  ApiResult<ObjectList> List(const ResourceId& resource, const std::string& namespace_name,
                             const ListOptions& options) override;
  ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                           Json object, const WriteOptions& options) override;
  ApiResult<Object> Update(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, Json object,
                           const WriteOptions& options) override;
  ApiResult<Object> Patch(const ResourceId& resource, const std::string& namespace_name,
                          const std::string& name, PatchType type, const Json& patch,
                          const WriteOptions& options) override;
  ApiResult<Object> Delete(const ResourceId& resource, const std::string& namespace_name,
                           const std::string& name, const DeleteOptions& options) override;
  std::unique_ptr<WatchHandle> Watch(const ResourceId& resource,
                                     std::function<void(const WatchEvent&)> on_event) override;
  std::vector<KindInfo> Kinds() override;
  std::unique_ptr<WatchHandle> WatchAll(
      std::function<void(const ResourceId&, const WatchEvent&)> on_event) override;

  // A kind beyond those that tests here always have.
  void AddKind(const ResourceId& resource, const std::string& kind, bool namespaced);

  // Called before each write; an error is the answer, and nothing is written.
  using Refusal = std::function<const ApiError*(const std::string& verb, const ResourceId&)>;
  void set_refusal(Refusal refusal) { refusal_ = std::move(refusal); }

  int write_count() const { return write_count_; }

 private:
  struct Watcher;
  struct Handle;
  using Key = std::pair<std::string, std::string>;

  Object Store(const ResourceId& resource, const Key& key, Json object);
  void Erase(const ResourceId& resource, const Key& key);
  void Notify(const ResourceId& resource, const WatchEvent& event);
  ApiResult<Object> Write(const ResourceId& resource, const Key& key, Json object,
                          const std::string& subresource);
  ApiResult<Object> Bind(const ResourceId& resource, const Key& key, const Json& binding);
  bool Refused(const std::string& verb, const ResourceId& resource, ApiError& error);

  const Clock& clock_;
  std::recursive_mutex mutex_;
  std::map<ResourceId, std::map<Key, Object>> objects_;
  std::vector<KindInfo> kinds_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  Refusal refusal_;
  std::int64_t revision_ = 100;
  std::int64_t next_uid_ = 1;
  std::int64_t next_name_ = 0;
  int write_count_ = 0;
};

}  // namespace berth::local::test
