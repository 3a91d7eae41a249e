// tests/scenarios/teller.h — plays a story: runs its steps in a world and checks its
// expectations.
//
//     Teller teller(*world);
//     const std::optional<Failure> failure = teller.Tell(script);
//
// Threads: one.
#pragma once

#include <optional>
#include <string>

#include "tests/scenarios/chronicle.h"
#include "tests/scenarios/script.h"
#include "tests/simulation/sim_world.h"

namespace berth::scenarios {

struct Failure {
  int line = 0;
  std::string source;  // the step as written
  std::string found;   // the actual state
  std::string story;   // the chronicle until then
};

class Teller {
 public:
  explicit Teller(sim::SimWorld& world);

  // nullopt: the story passed.
  std::optional<Failure> Tell(const Script& script);
  const Chronicle& chronicle() const { return chronicle_; }

 private:
  Status Do(const Step& step);
  Status Apply(const Step& step);
  Status ApplyObjects(const std::vector<local::Json>& objects);
  Status Configure(const Step& step);
  Status Refuse(const Step& step);
  Status Advance(const Step& step);
  Status Expect(const Step& step);

  sim::SimWorld& world_;
  Chronicle chronicle_;
};

}  // namespace berth::scenarios
