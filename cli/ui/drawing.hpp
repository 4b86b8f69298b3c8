#pragma once

#include <ftxui/dom/elements.hpp>

#include "ui/model.hpp"

namespace coffer::cli::ui {

/// The whole screen as the model says. `input`: the line or box that is typed in, drawn only in the modes that have
/// one. `colour`: whether tones may be colours; without, they are bold, faint and reversed.
ftxui::Element drawing(Model& model, ftxui::Element input, bool colour);

}  // namespace coffer::cli::ui
