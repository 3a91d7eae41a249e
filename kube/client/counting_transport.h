// kube/client/counting_transport.h — a Transport that counts the answers to its requests.
//
// Threads: as Transport. The inner Transport must outlive the returned Transport.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client/transport.h"

namespace berth::kube {

// `count` gets the method and the code of each answer: "200", "404"; "<error>": no answer came. A
// watch is counted once, with its first event or at its end.
using CountAnswer = std::function<void(const std::string& method, const std::string& code)>;

std::unique_ptr<Transport> CountAnswers(Transport& inner, CountAnswer count);

}  // namespace berth::kube
