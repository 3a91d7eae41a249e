// local/apiserver/types/wire.h — reads the protobuf wire format: the fields of one message.
//
// Every length is checked before it is used. Nothing is copied: text and messages are views.
// Source: Protocol Buffers encoding (proto2).
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::local {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t number_value = 0;  // kVarint, kFixed64, kFixed32
  std::string_view bytes;          // kBytes
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  enum class Outcome { kField, kEnd, kBroken };
  Outcome Next(WireField& field);

  // Takes one varint from the start of `text`; returns false if it is malformed.
  static bool TakeVarint(std::string_view& text, std::uint64_t& value);

 private:
  bool TakeFixed(std::size_t size, std::uint64_t& value);
  std::string_view rest_;
};

}  // namespace berth::local
