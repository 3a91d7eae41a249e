#include "api/codec/limits.h"

#include "api/codec/parts.h"
#include "api/codec/reader.h"

namespace berth::api {
namespace {

constexpr ResourceKind kLimitRange{"", "v1", "LimitRange", "limitranges"};
constexpr ResourceKind kRuntimeClass{"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false};

}  // namespace

template <>
Result<LimitRange> Decode<LimitRange>(const JsonSource& object) {
  return ReadAs<LimitRange>(object, [](const Reader& in, LimitRange& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("limits").List(out.items, [](const Reader& item, LimitRangeItem& limits) {
      item.Field("type").Get(limits.type);
      item.Field("min").Get(limits.min);
      item.Field("max").Get(limits.max);
      item.Field("default").Get(limits.default_limits);
      item.Field("defaultRequest").Get(limits.default_requests);
    });
  });
}

template <>
Result<RuntimeClass> Decode<RuntimeClass>(const JsonSource& object) {
  return ReadAs<RuntimeClass>(object, [](const Reader& in, RuntimeClass& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader overhead = in.Field("overhead");
    overhead.Field("podFixed").Get(out.overhead);
  });
}

template <>
const ResourceKind& KindOf<LimitRange>() {
  return kLimitRange;
}
template <>
const ResourceKind& KindOf<RuntimeClass>() {
  return kRuntimeClass;
}

}  // namespace berth::api
