#pragma once

#include <memory>

#include "connection.hpp"
#include "failure.hpp"
#include "session.hpp"

namespace coffer::cli::ui {

/// Shows the view on this terminal until the person leaves it. `bus`: a connection that asks for no password.
Outcome show(Session& session, std::unique_ptr<Connection> bus);

}  // namespace coffer::cli::ui
