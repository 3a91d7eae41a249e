// local/apiserver/registry/write_committer.h — the last stage of a write: the quotas, the storage
// version, the store, and the effects of a write that is on the disk.
//
//   object → storage version → charges of ResourceQuotas → Store::Submit
//          → wait for the disk → CommitEffects → answer in the version of the request
//
// A request with WaitFor::kSubmitted is answered without the wait, unless the write has effects
// that its client may use at once.
//
// Threads: any; blocks until the disk has the write.
// Errors: those of StoreRefusal; 403 Forbidden where a quota has no room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/commit_effects.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// The answer to a write that the store refused: 404, 409, or 503 where the disk fails.
ApiError StoreRefusal(const Error& error, const RequestContext& context);

// A write of the object of a request.
struct ObjectWrite {
  Write::Kind kind = Write::Kind::kCreate;
  Json object;                         // in the version of the request
  std::int64_t expected_revision = 0;  // the revision of the stored object; kCreate: unused
  const Json* old_object = nullptr;    // the stored object; null: the object is new
  std::vector<Write> companions = {};  // written with the object, or not at all
};

class WriteCommitter {
 public:
  WriteCommitter(Store& store, const Converter& converter, CommitEffects& effects)
      : store_(store), converter_(converter), effects_(effects) {}

  // Stores the object and answers with it. An error with the reason Conflict means that another
  // client has written the object since it was read.
  ApiResult<WriteResult> Commit(const RequestContext& context, ObjectWrite write);
  // Stores the state of a deletion: the object with its deletion pending, or (`gone`) its last
  // state. The result is on the disk; its effects are performed.
  Result<Object> CommitDeletion(const RequestContext& context, Json object,
                                std::int64_t expected_revision, bool gone);

  // Checks the quotas of a write that is not stored (dry run). Null `old_object`: the object is
  // new.
  std::optional<ApiError> CheckCharges(const RequestContext& context, const Json& object,
                                       const Json* old_object) const;

  // For a request that has read the state and writes nothing. Waits for the write that made the
  // state, or sets WriteResult::pending to this write if the request does not wait.
  Status SettleRead(const RequestContext& context, WriteResult& result) const;
  // Waits until the state that Store::GetLatest returns is on the disk.
  Status WaitForDisk(const ObjectKey& key) const;
  // Returns 404 once the deletion of the object, if any, is on the disk; the store's error if the
  // disk fails.
  ApiError Missing(const RequestContext& context) const;

 private:
  // Adds the charges of the first write.
  ApiResult<SubmittedWrite> SubmitCharged(const RequestContext& context, std::vector<Write> writes,
                                          const Json* old_object);
  // Waits for `write` if the request waits; then performs its effects. Fills `result`.
  Status Settle(const RequestContext& context, const SubmittedWrite& write, WriteResult& result);

  Store& store_;
  const Converter& converter_;
  CommitEffects& effects_;
};

}  // namespace berth::local
