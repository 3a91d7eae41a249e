// Goal: the controllers, shadow mode, forecasts and every world of virtual time have the settings
// of queueing in one struct. Method: the types of their options, at compile time.
#include <type_traits>

#include <gtest/gtest.h>

#include "admission/controller/admission_controllers.h"
#include "admission/controller/shadow/shadow.h"
#include "admission/driver.h"
#include "program/caller_screens.h"
#include "program/caller_what_if.h"
#include "program/eta_writer.h"
#include "simulation/control_plane.h"
#include "simulation/world.h"

namespace berth::program {
namespace {

template <typename Options>
constexpr bool kHasTheDriversOptions =
    std::is_same_v<decltype(Options::driver), admission::DriverOptions>;

// A class that takes them and no settings of the scheduler alone.
template <typename World>
constexpr bool kTakesTheDriversOptions =
    std::is_constructible_v<World, admission::DriverOptions> &&
    !std::is_constructible_v<World, admission::SchedulerConfig>;

TEST(DriverOptionsTest, EveryUserOfTheDriverHasItsOptions) {
  EXPECT_TRUE(kHasTheDriversOptions<admission::AdmissionControllersOptions>);
  EXPECT_TRUE(kHasTheDriversOptions<admission::ShadowOptions>);
  EXPECT_TRUE(kHasTheDriversOptions<simulation::WorldOptions>);
  EXPECT_TRUE(kHasTheDriversOptions<CallerScreensOptions>);
  EXPECT_TRUE(kHasTheDriversOptions<CallerWhatIfOptions>);
  EXPECT_TRUE(kHasTheDriversOptions<EtaWriterOptions>);
  EXPECT_TRUE(kTakesTheDriversOptions<admission::Driver>);
  EXPECT_TRUE(kTakesTheDriversOptions<simulation::ControlPlane>);
}

}  // namespace
}  // namespace berth::program
