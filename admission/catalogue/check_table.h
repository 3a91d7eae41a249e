// admission/catalogue/check_table.h — the AdmissionChecks by name.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/queues.h"

namespace berth::admission {

class CheckTable {
 public:
  struct Check {
    bool active = false;
    std::string controller;
  };

  void Set(const api::AdmissionCheck& object);
  void Remove(const std::string& name);

  // Null: no such check exists. Valid until the next change.
  const Check* Find(const std::string& name) const;
  // Whether a check of the rules for the flavor asks for capacity: the nodes do not exist yet.
  bool AskForCapacity(const std::vector<api::AdmissionCheckRule>& rules,
                      const std::string& flavor) const;

 private:
  std::map<std::string, Check> checks_;
};

}  // namespace berth::admission
