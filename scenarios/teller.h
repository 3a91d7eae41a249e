// scenarios/teller.h — plays a story: runs its steps in a world and checks its
// expectations.
//
//     Teller teller(*world, "manifests");
//     const std::optional<Failure> failure = teller.Tell(script);
//
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/chronicle.h"
#include "scenarios/script.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

struct Failure {
  int line = 0;
  std::string source;  // the step as written
  std::string found;   // the actual state
};

class Teller {
 public:
  // `apply PATH` reads below the folder `manifests`.
  Teller(sim::SimWorld& world, std::string manifests);

  // nullopt: the story passed.
  std::optional<Failure> Tell(const Script& script);
  const Chronicle& chronicle() const { return chronicle_; }

 private:
  Status Do(const Step& step);
  Status Perform(const Step& step);
  Result<std::vector<local::Json>> ManifestsOf(const Step& step) const;
  Status Apply(const Step& step);
  Status ApplyObjects(const std::vector<local::Json>& objects);
  Status Configure(const Step& step);
  Status Refuse(const Step& step);
  Status Advance(const Step& step);
  Status Expect(const Step& step);

  sim::SimWorld& world_;
  std::string manifests_;
  Chronicle chronicle_;
};

}  // namespace berth::scenarios
