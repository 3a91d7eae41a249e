// tests/kube/name_reader.h — reads objects as their names (std::string); a number is no object.
#pragma once

#include <memory>
#include <string>

#include "api/codec/codec.h"
#include "kube/client/transport.h"

namespace berth::kube {

class NameReader final : public ObjectReader {
 public:
  ReadObject Read(const api::JsonSource& object) const override {
    Result<api::ObjectMeta> meta = api::Decode<api::ObjectMeta>(object);
    if (!meta) return {nullptr, meta.error().message};
    return {std::make_shared<const std::string>(meta->name), ""};
  }
};

}  // namespace berth::kube
