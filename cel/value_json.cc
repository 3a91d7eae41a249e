#include "cel/value_json.h"

#include <cmath>

#include "base/strings.h"
#include "cel/containers.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr int kMaxJsonDepth = 500;

Error NotJson(std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; }

Result<Json> CopyAsJson(const Value& value, std::size_t& left, int depth);

Result<Json> CopyList(const Value& value, std::size_t& left, int depth) {
  Json list = Json::array();
  Status status = OkStatus();
  value.AsList().ForEach([&](const Value& element) {
    auto copy = CopyAsJson(element, left, depth + 1);
    if (copy) {
      list.push_back(*std::move(copy));
    } else {
      status = copy.error();
    }
    return status.has_value();
  });
  if (!status) return status.error();
  return list;
}

Result<Json> CopyMap(const Value& value, std::size_t& left, int depth) {
  Json map = Json::object();
  Status status = OkStatus();
  value.AsMap().ForEach([&](const Value& key, const Value& entry) {
    if (!key.is(Kind::kString)) {
      status = NotJson("a map's key " + ToText(key) + " is no string: JSON has no such keys");
      return false;
    }
    auto copy = CopyAsJson(entry, left, depth + 1);
    if (copy) {
      map[std::string(key.AsText())] = *std::move(copy);
    } else {
      status = copy.error();
    }
    return status.has_value();
  });
  if (!status) return status.error();
  return map;
}

Result<Json> CopyAsJson(const Value& value, std::size_t& left, int depth) {
  if (left == 0) return NotJson("the value has too many parts for a copy as JSON");
  if (depth > kMaxJsonDepth) return NotJson("the value is nested too deeply for a copy as JSON");
  --left;
  switch (value.kind()) {
    case Kind::kNull: return Json();
    case Kind::kBool: return Json(value.AsBool());
    case Kind::kInt: return Json(value.AsInt());
    case Kind::kUint: return Json(value.AsUint());
    case Kind::kDouble:
      if (!std::isfinite(value.AsDouble())) {
        return NotJson("the double " + ToText(value) + " has no form in JSON");
      }
      return Json(value.AsDouble());
    case Kind::kString: return Json(std::string(value.AsText()));
    case Kind::kBytes: return Json(Base64Encode(value.AsText()));
    case Kind::kList: return CopyList(value, left, depth);
    case Kind::kMap: return CopyMap(value, left, depth);
    case Kind::kOptional:
      if (value.AsOptional() == nullptr) return Json();
      return CopyAsJson(*value.AsOptional(), left, depth + 1);
    default: return Json(ToText(value));
  }
}

}  // namespace

Result<Json> ToJson(const Value& value, std::size_t max_values) {
  std::size_t left = max_values;
  return CopyAsJson(value, left, 0);
}

}  // namespace berth::cel
