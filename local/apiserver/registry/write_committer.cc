#include "local/apiserver/registry/write_committer.h"

#include <memory>
#include <string>
#include <utility>

#include "local/apiserver/registry/quota_charges.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr int kChargeTries = 64;  // tries where other creations change the quotas, too

}  // namespace

ApiError StoreRefusal(const Error& error, const RequestContext& context) {
  switch (error.code) {
    case ErrorCode::kNotFound: return NotFoundStatus(context.resource->id, context.name);
    case ErrorCode::kAlreadyExists: return AlreadyExistsStatus(context.resource->id, context.name);
    case ErrorCode::kConflict: return StaleStatus(context.resource->id, context.name);
    default: return UnavailableStatus("the write could not be stored: " + error.message);
  }
}

ApiResult<WriteResult> WriteCommitter::Commit(const RequestContext& context, ObjectWrite write) {
  const ResourceInfo& resource = *context.resource;
  const bool converted = !IsStorageVersion(resource);
  Json answer = converted ? write.object : Json();
  if (auto error = converter_.ToStorageVersion(resource, write.object)) return *error;
  std::vector<Write> writes = std::move(write.companions);
  writes.insert(writes.begin(),
                Write{write.kind, context.key(), std::move(write.object), write.expected_revision});
  auto done = SubmitCharged(context, std::move(writes), write.old_object);
  if (!done) return done.error();
  WriteResult result;
  const bool gone = write.kind == Write::Kind::kDelete;
  const Status settled = gone ? done->pending->Wait() : Settle(context, *done, result);
  if (!settled) return StoreRefusal(settled.error(), context);
  if (gone) effects_.Perform(context.key(), true);
  const StoredPtr& committed = done->objects.front();
  if (!converted) {
    result.stored = committed;
    result.object = committed->json();
    return result;
  }
  answer["metadata"]["resourceVersion"] = std::to_string(committed->revision());
  result.object = std::make_shared<const Json>(std::move(answer));
  return result;
}

Result<Object> WriteCommitter::CommitDeletion(const RequestContext& context, Json object,
                                              std::int64_t expected_revision, bool gone) {
  std::vector<Write> writes;
  writes.push_back({gone ? Write::Kind::kDelete : Write::Kind::kUpdate, context.key(),
                    std::move(object), expected_revision});
  auto done = store_.Commit(std::move(writes));
  if (!done) return done.error();
  Object stored = done->front()->json();
  effects_.Perform(context.key(), gone);
  return stored;
}

// Quotas that change in between are counted again.
ApiResult<SubmittedWrite> WriteCommitter::SubmitCharged(const RequestContext& context,
                                                        std::vector<Write> writes,
                                                        const Json* old_object) {
  const Write& first = writes.front();
  for (int attempt = 1;; ++attempt) {
    auto charges = QuotaCharges(store_, context, first.object, old_object);
    if (!charges) return charges.error();
    if (charges->empty()) {
      auto done = store_.Submit(std::move(writes));
      if (!done) return StoreRefusal(done.error(), context);
      return std::move(*done);
    }
    std::vector<Write> all = writes;
    for (Write& charge : *charges) all.push_back(std::move(charge));
    auto done = store_.Submit(std::move(all));
    if (done) return std::move(*done);
    bool again = done.error().code == ErrorCode::kConflict;
    if (again && old_object != nullptr) {
      const StoredPtr latest = store_.GetLatest(first.key);
      again = latest != nullptr && latest->revision() == first.expected_revision;
    }
    if (!again || attempt == kChargeTries) return StoreRefusal(done.error(), context);
  }
}

std::optional<ApiError> WriteCommitter::CheckCharges(const RequestContext& context,
                                                     const Json& object,
                                                     const Json* old_object) const {
  const auto charges = QuotaCharges(store_, context, object, old_object);
  if (!charges) return charges.error();
  return std::nullopt;
}

Status WriteCommitter::Settle(const RequestContext& context, const SubmittedWrite& write,
                              WriteResult& result) {
  const ObjectKey key = context.key();
  if (context.wait_for == WaitFor::kSubmitted && !CommitEffects::AreAwaited(key)) {
    result.pending = write.pending;
    return OkStatus();
  }
  BERTH_CHECK_OK(write.pending->Wait());
  effects_.Perform(key, false);
  return OkStatus();
}

Status WriteCommitter::SettleRead(const RequestContext& context, WriteResult& result) const {
  if (context.wait_for == WaitFor::kDurable) return WaitForDisk(context.key());
  result.pending = store_.PendingOf(context.key());
  return OkStatus();
}

Status WriteCommitter::WaitForDisk(const ObjectKey& key) const {
  const std::shared_ptr<PendingWrite> pending = store_.PendingOf(key);
  return pending == nullptr ? OkStatus() : pending->Wait();
}

ApiError WriteCommitter::Missing(const RequestContext& context) const {
  const Status durable = WaitForDisk(context.key());
  if (!durable) return StoreRefusal(durable.error(), context);
  return NotFoundStatus(context.resource->id, context.name);
}

}  // namespace berth::local
