// base/system_clock.h — the Clock that reads real time.
#pragma once

#include "base/clock.h"

namespace berth {

class SystemClock final : public Clock {
 public:
  WallTime Now() const override;
  SteadyTime SteadyNow() const override;
};

}  // namespace berth
