#include <algorithm>
#include <format>

#include "model/visible_text.hpp"
#include "ui/model.hpp"
#include "ui/page_names.hpp"

/// What every key does.
namespace coffer::cli::ui {

namespace {

/// Columns that a step to the side moves.
constexpr std::size_t kSideStep = 8;

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

void Model::press(std::string_view key) {
  status_.clear();
  refused_.reset();
  switch (mode_) {
    case Mode::Help:
      mode_ = Mode::Browse;
      return;
    case Mode::Confirm:
      answer(key);
      return;
    case Mode::Reply:
    case Mode::Branch:
    case Mode::Filter:
      write(key);
      return;
    case Mode::Browse:
      browse(key);
      return;
  }
}

void Model::browse(std::string_view key) {
  if (key == "?") {
    mode_ = Mode::Help;
    return;
  }
  if (decide(key)) return;
  for (const auto& entry : pageNames()) {
    if (entry.key != key || !task()) continue;
    if (has(entry.page))
      open(entry.page);
    else
      say(std::string(entry.none), Tone::Attention);
    return;
  }
  if (page_ == Page::List)
    browseList(key);
  else
    browseTask(key);
}

void Model::browseList(std::string_view key) {
  const auto screen = static_cast<std::ptrdiff_t>(std::max<std::size_t>(bodyHeight() - previewHeight(), 2) - 1);
  const auto all = static_cast<std::ptrdiff_t>(list_.rows().size());
  const auto before = focus().task;
  if (key == "Up" || key == "k") list_.move(-1);
  if (key == "Down" || key == "j") list_.move(1);
  if (key == "PageUp") list_.move(-screen);
  if (key == "PageDown" || key == " ") list_.move(screen);
  if (key == "Home" || key == "g") list_.move(-all);
  if (key == "End" || key == "G") list_.move(all);
  if (focus().task != before) details_.reset();
  if (key == "Enter" && task()) open(Page::Details);
  if (key == "/") {
    mode_ = Mode::Filter;
    input_ = list_.filter();
  }
  if (key == "Esc" && !list_.filter().empty()) {
    list_.filter({});
    return;
  }
  if (key == "q" || key == "Esc") orders_.emplace_back(Leave{});
}

void Model::browseTask(std::string_view key) {
  if (key == "q" || key == "Esc")
    open(Page::List);
  else if (key == "Tab")
    openNeighbour(1);
  else if (key == "BackTab")
    openNeighbour(-1);
  else if (key == "[")
    stepRun(-1);
  else if (key == "]")
    stepRun(1);
  else
    scroll(key);
}

bool Model::scroll(std::string_view key) {
  const auto height = bodyHeight();
  const auto most = maximumTop();
  const auto screen = std::max<std::size_t>(height, 2) - 1;
  const auto before = std::pair(top_, left_);
  top_ = std::min(top_, most);
  if (key == "Up" || key == "k") top_ -= std::min<std::size_t>(top_, 1);
  if (key == "Down" || key == "j") top_ = std::min(top_ + 1, most);
  if (key == "PageUp") top_ -= std::min(top_, screen);
  if (key == "PageDown" || key == " ") top_ = std::min(top_ + screen, most);
  if (key == "Home" || key == "g") top_ = 0;
  if (key == "End" || key == "G") top_ = most;
  if (page_ == Page::Diff) {
    if (key == "Left" || key == "h") left_ -= std::min(left_, kSideStep);
    if (key == "Right" && left_ + width_ < text_.document.widest() + kSideStep) left_ += kSideStep;
    if (key == "n") {
      if (const auto next = text_.document.nextChange(top_)) top_ = std::min(*next, most);
    }
    if (key == "N") {
      if (const auto previous = text_.document.previousChange(top_)) top_ = *previous;
    }
  }
  follow_ = page_ == Page::Transcript && top_ == most;
  return before != std::pair(top_, left_);
}

void Model::open(Page page) {
  if (page == page_) return;
  page_ = page;
  run_.reset();
  top_ = 0;
  left_ = 0;
  // Where something still happens its end is what is wanted.
  follow_ = page == Page::Transcript && task() && groupOf(*task()) == Group::Working;
  if (page == Page::Details || page == Page::Findings)
    buildStyled();
  else
    text_ = {focus(), Document(Document::Kind::Prose), {}, {}, {}, {}};
}

void Model::openNeighbour(int by) {
  const auto all = pages();
  const auto at = std::ranges::find(all, page_) - all.begin();
  const auto size = static_cast<std::ptrdiff_t>(all.size());
  if (size > 0) open(all[static_cast<std::size_t>((at + by + size) % size)]);
}

void Model::stepRun(int by) {
  if (page_ != Page::Transcript && page_ != Page::Gate) return;
  const auto runs = runsWithText();
  if (runs.empty()) return;
  const auto found = run_ ? std::ranges::find(runs, *run_) : runs.end() - 1;
  const auto at = (found == runs.end() ? runs.end() - 1 : found) - runs.begin() + by;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(runs.size())) {
    say(by < 0 ? "This is the first." : "This is the last.", Tone::Attention);
    return;
  }
  const auto wanted = runs[static_cast<std::size_t>(at)];
  run_ = wanted;
  top_ = 0;
  follow_ = false;
  text_ = {focus(), Document(Document::Kind::Prose), {}, {}, {}, {}};
}

bool Model::decide(std::string_view key) {
  constexpr std::string_view kKeys = "abrectx";
  if (key.size() != 1 || !kKeys.contains(key)) return false;
  if (!there_ || !doing_.empty()) {
    say(there_ ? "One thing after the other." : "Nothing can be decided while cofferd is away.", Tone::Attention);
    return true;
  }
  if (task() && !properties()) {
    say("It is being read; once more, please.", Tone::Attention);
    return true;
  }
  if (key == "a") {
    for (const auto* action : {"accept-plan", "accept-work"})
      if (allows(action)) {
        ask(action, {});
        return true;
      }
  } else if (key == "b") {
    if (allows("accept-work") && read("accept-work")) {
      mode_ = Mode::Branch;
      input_.clear();
      return true;
    }
    if (allows("accept-work")) {
      ask("accept-work", {});
      return true;
    }
  } else if (key == "r" || key == "e") {
    if (allows("reply")) {
      if (key == "r") {
        startReply();
        return true;
      }
      const auto question = model::visibleText(textOf(*properties(), "Question"));
      orders_.emplace_back(
          Edit{task()->id, task()->name() + "\n" + (question.empty() ? "Say what should be otherwise." : question)});
      return true;
    }
  } else {
    const auto* action = key == "c" ? "cancel" : key == "t" ? "retry" : "delete";
    if (key == "t" && wantsBudget()) {
      say(std::format("It wants a larger budget: {} retry {} --budget TOKENS", command_, task()->id), Tone::Attention);
      return true;
    }
    if (allows(action)) {
      question_ = key == "c" ? askToCancel(*task()) : key == "t" ? askToRetry(*task()) : askToDelete(*task());
      mode_ = Mode::Confirm;
      return true;
    }
  }
  if (task()) say("That is not possible here: " + firstLine(task()->where()) + ".", Tone::Attention);
  return true;
}

void Model::ask(std::string_view action, const std::string& branch) {
  const bool plan = action == "accept-plan";
  if (!read(action)) {
    say(plan ? "Read the plan first: p" : "Read the diff first: d", Tone::Attention);
    return;
  }
  if (plan)
    question_ = askToAcceptPlan(*task(), *properties());
  else
    question_ = askToAcceptWork(
        *task(), *properties(),
        page_ == Page::Diff && text_.complete ? std::optional(text_.document.files()) : std::nullopt, branch);
  mode_ = Mode::Confirm;
}

void Model::answer(std::string_view key) {
  if (key == "y" && question_) {
    orders_.emplace_back(question_->act);
  } else if (key != "n" && key != "Esc" && key != "q") {
    return;
  } else {
    say("Nothing was decided.", Tone::Faint);
  }
  question_.reset();
  mode_ = Mode::Browse;
}

void Model::startReply() {
  mode_ = Mode::Reply;
  input_ = draftTask_ == task()->id ? draft_ : std::string();
}

void Model::leaveInput() {
  mode_ = Mode::Browse;
  input_.clear();
}

void Model::typed() {
  refused_.reset();
  if (mode_ == Mode::Filter) {
    const auto before = focus().task;
    list_.filter(input_);
    if (focus().task != before) details_.reset();
  }
}

void Model::write(std::string_view key) {
  if (key == "Esc") {
    if (mode_ == Mode::Filter) list_.filter({});
    if (mode_ == Mode::Reply && task()) {
      draft_ = input_;
      draftTask_ = task()->id;
      if (!blank(draft_)) say("Nothing was sent; r goes on with it.", Tone::Attention);
    }
    leaveInput();
    return;
  }
  if (mode_ == Mode::Filter && key == "Enter") {
    leaveInput();
    return;
  }
  if (mode_ == Mode::Branch && key == "Enter") {
    const auto branch = input_;
    leaveInput();
    if (!blank(branch)) ask("accept-work", branch);
    return;
  }
  if (mode_ != Mode::Reply || key != "CtrlD" || !task()) return;
  if (blank(input_)) {
    say("The reply is empty.", Tone::Attention);
    return;
  }
  orders_.emplace_back(Act{"reply", task()->id, {}, input_});
  leaveInput();
}

void Model::click(std::size_t line) {
  if (mode_ != Mode::Browse || page_ != Page::List) return;
  status_.clear();
  refused_.reset();
  const auto height = bodyHeight();
  const auto under = previewHeight();
  const auto rows = height > under ? height - under : 0;
  if (line >= rows) return;
  const auto row = list_.top(rows) + line;
  const auto before = list_.selectedRow();
  if (!list_.selectRow(row)) return;
  if (row != before)
    details_.reset();
  else
    open(Page::Details);
}

std::vector<Hint> Model::hints() const {
  std::vector<Hint> hints;
  const auto add = [&](std::string key, std::string words) { hints.push_back({std::move(key), std::move(words)}); };
  switch (mode_) {
    case Mode::Help:
      return {{"any key", "back"}};
    case Mode::Confirm:
      return {{"y", "yes"}, {"n", "no"}};
    case Mode::Reply:
      return {{"Ctrl-D", "send"}, {"Enter", "new line"}, {"Esc", "back"}};
    case Mode::Branch:
      return {{"Enter", "go on"}, {"Esc", "back"}};
    case Mode::Filter:
      return {{"Enter", "keep"}, {"Esc", "all tasks"}};
    case Mode::Browse:
      break;
  }
  if (page_ == Page::List) {
    if (task()) add("Enter", "open");
    for (const auto& entry : pageNames())
      if (entry.page != Page::Details && task() && has(entry.page)) {
        auto name = std::string(entry.name);
        name.front() = static_cast<char>(name.front() + ('a' - 'A'));
        add(std::string(entry.key), name);
      }
  } else {
    if (pages().size() > 1) add("Tab", "next page");
    if (page_ == Page::Diff && text_.complete && text_.problem.empty()) add("n", "next change");
    if (runsWithText().size() > 1 && (page_ == Page::Transcript || page_ == Page::Gate)) add("[ ]", "other run");
  }
  for (const auto& decision : decisions()) {
    if (!allows(decision.action) || (decision.action == "retry" && wantsBudget())) continue;
    const bool accepts = decision.action.starts_with("accept");
    if (accepts && !read(decision.action)) continue;
    add(std::string(decision.key), std::string(decision.words));
    if (decision.action == "accept-work") add("b", "onto a branch");
    if (decision.action == "reply") add("e", "in editor");
  }
  if (page_ == Page::List && !list_.empty()) add("/", "filter");
  add("?", "help");
  add("q", page_ == Page::List ? "leave" : "back");
  return hints;
}

}  // namespace coffer::cli::ui
