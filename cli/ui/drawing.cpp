#include "ui/drawing.hpp"

#include <utility>

namespace coffer::cli::ui {

namespace {

ftxui::Element cellElement(const Cell& cell, bool colour) {
  auto element = ftxui::text(cell.text);
  switch (cell.tone) {
    case Tone::Plain:
      return element;
    case Tone::Strong:
      return ftxui::bold(std::move(element));
    case Tone::Faint:
      return ftxui::dim(std::move(element));
    case Tone::Mark:
      return ftxui::inverted(std::move(element));
    case Tone::Good:
      return colour ? ftxui::color(ftxui::Color::Green, std::move(element)) : element;
    case Tone::Bad:
      return colour ? ftxui::color(ftxui::Color::Red, std::move(element)) : ftxui::bold(std::move(element));
    case Tone::Attention:
      return colour ? ftxui::color(ftxui::Color::Yellow, std::move(element)) : ftxui::bold(std::move(element));
  }
  return element;
}

ftxui::Element lineElement(const StyledLine& line, bool colour) {
  ftxui::Elements cells;
  cells.reserve(line.size() + 1);
  for (const auto& cell : line)
    cells.push_back(cellElement(cell, colour));
  // An empty line is a line too, which a filler alone would not be.
  if (cells.empty()) cells.push_back(ftxui::text(""));
  cells.push_back(ftxui::filler());
  return ftxui::hbox(std::move(cells));
}

}  // namespace

ftxui::Element drawing(Model& model, ftxui::Element input, bool colour) {
  ftxui::Elements rows;
  rows.push_back(ftxui::inverted(lineElement(model.title(), colour)));
  if (model.page() != Page::List) rows.push_back(lineElement(model.tabs(), colour));
  const auto selected = model.selectedLine();
  const auto lines = model.body();
  ftxui::Elements body;
  body.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto element = lineElement(lines[i], colour);
    body.push_back(selected == i ? ftxui::inverted(std::move(element)) : std::move(element));
  }
  rows.push_back(ftxui::vbox(std::move(body)) |
                 ftxui::size(ftxui::HEIGHT, ftxui::EQUAL, static_cast<int>(model.bodyHeight())));
  for (const auto& line : model.panel())
    rows.push_back(lineElement(line, colour));
  if (const auto height = model.inputHeight(); height > 0)
    rows.push_back(std::move(input) | ftxui::size(ftxui::HEIGHT, ftxui::EQUAL, static_cast<int>(height)));
  rows.push_back(lineElement(model.status(), colour));
  for (const auto& line : model.hintLines())
    rows.push_back(lineElement(line, colour));
  return ftxui::vbox(std::move(rows));
}

}  // namespace coffer::cli::ui
