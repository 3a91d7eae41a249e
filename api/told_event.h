// api/told_event.h — a core/v1 Event as a reader sees it.
#pragma once

#include <string>

#include "base/clock.h"

namespace berth::api {

struct ToldEvent {
  std::string about;  // name of the object
  std::string reason;
  std::string reporter;  // program that wrote the Event
  std::string message;
  WallTime at{};  // when the newest occurrence was
};

}  // namespace berth::api
