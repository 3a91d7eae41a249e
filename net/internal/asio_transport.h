// net/internal/asio_transport.h — makes a Transport of an accepted socket, for the listener.
// Includes Asio: for .cc files only.
#pragma once

#include <memory>

#include <boost/asio/ip/tcp.hpp>

#include "net/internal/byte_stream.h"

namespace berth::net {

// Precondition: `socket` has the strand's executor. `tls` may be null.
std::unique_ptr<Transport> MakeTransport(boost::asio::ip::tcp::socket socket,
                                         const std::shared_ptr<TlsContext>& tls);

// "127.0.0.1:80", "[::1]:80"
std::string EndpointText(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace berth::net
