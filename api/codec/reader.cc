#include "api/codec/reader.h"

#include <limits>

#include "base/rfc3339.h"

namespace berth::api {

Reader::Reader(const Json& root, Failure& failure) : value_(&root), failure_(&failure) {
  if (!root.is_object()) FailType("an object");
}

Reader Reader::Field(const char* key) const& {
  if (!present()) return {*this, key, nullptr};
  if (!value_->is_object()) {
    FailType("an object");
    return {*this, key, nullptr};
  }
  const auto found = value_->find(key);
  const bool absent = found == value_->end() || found->is_null();
  return {*this, key, absent ? nullptr : &*found};
}

void Reader::Get(std::string& out) const {
  if (!present()) return;
  if (!value_->is_string()) return FailType("a string");
  out = value_->get_ref<const std::string&>();
}

void Reader::Get(bool& out) const {
  if (!present()) return;
  if (!value_->is_boolean()) return FailType("true or false");
  out = value_->get<bool>();
}

void Reader::Get(std::int64_t& out) const {
  if (!present()) return;
  if (!value_->is_number_integer()) return FailType("an integer");
  if (value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return Fail("the integer is too large");
  }
  out = value_->get<std::int64_t>();
}

void Reader::Get(std::int32_t& out) const {
  if (!present()) return;
  std::int64_t wide = 0;
  Get(wide);
  if (wide < std::numeric_limits<std::int32_t>::min() ||
      wide > std::numeric_limits<std::int32_t>::max()) {
    return Fail("the integer does not fit 32 bits");
  }
  if (!failure_->has_value()) out = static_cast<std::int32_t>(wide);
}

void Reader::Get(WallTime& out) const {
  std::string text;
  Get(text);
  if (text.empty()) return;
  const std::optional<WallTime> time = ParseTime(text);
  if (!time) return Fail("\"" + text + "\" is not an RFC 3339 time");
  out = *time;
}

void Reader::Get(StringMap& out) const {
  if (!present()) return;
  if (!value_->is_object()) return FailType("a map of strings");
  for (const auto& [key, value] : value_->items()) {
    Reader(*this, key.c_str(), value.is_null() ? nullptr : &value).Get(out[key]);
  }
}

void Reader::Get(std::vector<std::string>& out) const {
  List(out, [](const Reader& item, std::string& text) { item.Get(text); });
}

void Reader::Get(Quantity& out) const {
  if (!present()) return;
  if (!value_->is_string() && !value_->is_number()) return FailType("a quantity such as 2 or 500m");
  const Result<Quantity> quantity =
      Quantity::Parse(value_->is_string() ? value_->get_ref<const std::string&>() : value_->dump());
  if (!quantity) return Fail(quantity.error().message);
  out = *quantity;
}

void Reader::GetAmount(std::string_view resource, Amount& out) const {
  if (!present()) return;
  Quantity quantity;
  Get(quantity);
  if (!failure_->has_value()) out = ToAmount(resource, quantity);
}

void Reader::Get(ResourceAmounts& out) const {
  if (!present()) return;
  if (!value_->is_object()) return FailType("a map of quantities");
  for (const auto& [resource, quantity] : value_->items()) {
    Reader(*this, resource.c_str(), quantity.is_null() ? nullptr : &quantity)
        .GetAmount(resource, out[resource]);
  }
}

bool Reader::CheckList() const {
  if (!present()) return false;
  if (value_->is_array()) return true;
  FailType("a list");
  return false;
}

void Reader::FailType(const char* expected) const {
  Fail(std::string("expected ") + expected + ", got " + value_->type_name());
}

void Reader::Fail(const std::string& message) const {
  if (failure_->has_value()) return;
  const std::string path = Path();
  *failure_ = Error{ErrorCode::kInvalid, path.empty() ? message : path + ": " + message};
}

std::string Reader::Path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->Path();
  if (key_ == nullptr) return path + "[" + std::to_string(index_) + "]";
  if (!path.empty()) path += '.';
  return path + key_;
}

}  // namespace berth::api
