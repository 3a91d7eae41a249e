// tests/local/support/test_api.h — the real embedded API (scenarios/world/embedded_api.h) for tests
// of in-process components: writes can be refused, and objects need no kind.
//
// Threads: as EmbeddedApi; set_refusal before others write; Silence at any time.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/api.h"
#include "scenarios/world/embedded_api.h"

namespace berth::local::test {

class TestApi final : public WholeApi {
 public:
  // `deliver_on` is an executor of virtual time; null: watches have a thread.
  explicit TestApi(const Clock& clock, Executor* deliver_on = nullptr);

  ApiResult<Object> Get(const ResourceId& resource, const std::string& namespace_name,
                        const std::string& name) override;
  ApiResult<ObjectList> List(const ResourceId& resource, const std::string& namespace_name,
                             const ListOptions& options) override;
  // apiVersion and kind are set where the object has none.
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
  std::unique_ptr<WatchHandle> Watch(const ResourceId& resource, WatchFrom from,
                                     std::function<void(const WatchEvent&)> on_event) override;
  std::vector<KindInfo> Kinds() override;
  std::unique_ptr<WatchHandle> WatchAll(
      WatchFrom from, std::function<void(const ResourceId&, const WatchEvent&)> on_event) override;

  // Creates `object`, then writes its status, which the API takes through the subresource only.
  ApiResult<Object> CreateWithStatus(const ResourceId& resource, const std::string& namespace_name,
                                     const Json& object);

  // Called before each write; an error is returned, and the write does not happen.
  using Refusal = std::function<const ApiError*(const std::string& verb, const ResourceId&)>;
  void set_refusal(Refusal refusal) { refusal_ = std::move(refusal); }

  // Watches of `resource` have no further events.
  void Silence(const ResourceId& resource);

 private:
  const ApiError* Refused(const std::string& verb, const ResourceId& resource);
  WholeApi& api() { return embedded_->api(); }

  Refusal refusal_;
  std::mutex silent_mutex_;
  std::set<ResourceId> silent_;
  std::unique_ptr<EmbeddedApi> embedded_;  // its thread reads what is above
};

}  // namespace berth::local::test
