// local/apiserver/patch/json_patch.h — applies RFC 6902 and RFC 7386 patches to plain JSON.
//
// Errors: a malformed patch is 400 BadRequest; a patch that cannot be applied (failed test,
// missing path) is 422 Invalid "the server rejected our request due to an error in our request".
#pragma once

#include "local/apiserver/api.h"

namespace berth::local {

inline constexpr std::size_t kMaxJsonPatchOperations = 10'000;
inline constexpr std::size_t kMaxJsonPatchCopyBytes = 3 * 1024 * 1024;

// JSON patch (RFC 6902). `patch`: an array of operations, at most kMaxJsonPatchOperations.
ApiResult<Json> ApplyJsonPatch(const Json& original, const Json& patch);

// JSON merge patch (RFC 7386). `patch` must be an object.
ApiResult<Json> ApplyMergePatch(const Json& original, const Json& patch);

// The merge patch that turns `from` into `to` (RFC 7386; a changed list is replaced whole).
Json CreateMergePatch(const Json& from, const Json& to);

}  // namespace berth::local
