// local/apiserver/registry/object_reader.h — get and list: from the watch cache to the version of
// the request.
//
//   list:  continue token or resourceVersion → a revision → a part of WatchCache → selectors
//          → version of the request → the next continue token
//
// A list shows one revision; its pages show the same one while the window of the cache has it.
//
// Threads: any; may block (conversion webhooks).
// Errors: NotFound; 400 for a token or a revision that cannot be read; 410 Expired for a revision
// that the cache has no more; 504 Timeout for a cancelled request.
// Source: Kubernetes API concepts, "Retrieving large results sets in chunks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/read_query.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

struct ListResult {
  std::vector<StoredPtr> items;  // in the version of the request
  std::int64_t revision = 0;
  std::string continue_token;
  std::optional<std::size_t> remaining;
};

class ObjectReader {
 public:
  ObjectReader(const Store& store, const Converter& converter)
      : store_(store), converter_(converter) {}

  ApiResult<StoredPtr> Get(const RequestContext& context) const;
  ApiResult<ListResult> List(const RequestContext& context, const ReadQuery& query) const;

 private:
  const Store& store_;
  const Converter& converter_;
};

}  // namespace berth::local
