// A guard, since a compiler cache may hand out a precompiled header of a text with other comments: not the same file to
// #pragma once.
#ifndef COFFER_GATEWAY_BEAST_HPP
#define COFFER_GATEWAY_BEAST_HPP

// Beast and Asio take a minute of processor time wherever they are compiled: this header is precompiled, and what is
// made of its templates is made in two files, connection.cpp for the provider's side and agent_stream.cpp for the
// agent's.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace coffer::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::awaitable;
using boost::system::error_code;
using tcp = asio::ip::tcp;

/// An asynchronous call gives its error code back instead of throwing it.
inline constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace coffer::gateway

#endif
