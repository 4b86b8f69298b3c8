#include "ui/model.hpp"

#include <algorithm>
#include <array>
#include <format>
#include <ranges>

#include "model/visible_text.hpp"
#include "run_view.hpp"
#include "task_details.hpp"
#include "ui/page_names.hpp"

namespace coffer::cli::ui {

namespace {

/// Lines that say more about the selected task below the list, with the line above them; none on a small terminal.
constexpr std::size_t kPreviewLines = 8;
/// What is enough to know there; its details have all.
constexpr std::array<std::string_view, 8> kPreviewFields = {"State",     "",       "Problem", "Round",
                                                            "Candidate", "Landed", "Usage",   "Changed"};
constexpr std::size_t kSmallHeight = 18;
constexpr std::size_t kReplyLines = 4;

bool styled(Page page) { return page == Page::Details || page == Page::Findings; }

}  // namespace

void Model::resize(std::size_t width, std::size_t height) {
  if (width == width_ && height == height_) return;
  width_ = width;
  height_ = height;
  if (styled(page_)) buildStyled();
}

bool Model::apply(const Update& update) {
  return std::visit([this](const auto& each) { return applyTo(each); }, update);
}

bool Model::applyTo(const TasksUpdate& update) {
  const auto before = focus();
  listed_ = true;
  list_.set(update.tasks);
  if (focus().task != before.task) {
    // The task that was open is gone.
    page_ = Page::List;
    question_.reset();
    if (mode_ != Mode::Filter) mode_ = Mode::Browse;
    details_.reset();
  }
  return true;
}

bool Model::applyTo(const TaskUpdate& update) {
  if (!task() || update.task != task()->id) return false;
  details_ = update;
  if (question_ && !question_->act.digest.empty()) {
    const bool plan = question_->act.action == "accept-plan";
    if (question_->act.digest != textOf(details_->properties, plan ? "PlanDigest" : "WorkDigest")) {
      question_.reset();
      mode_ = Mode::Browse;
      say(plan ? "It is another plan by now." : "It is other work by now.", Tone::Attention);
    }
  }
  if (styled(page_)) buildStyled();
  return true;
}

bool Model::applyTo(const TextUpdate& update) {
  if (update.focus != focus()) return false;
  if (update.first) {
    const bool another = text_.complete && text_.focus == update.focus && text_.digest != update.digest;
    const bool decided = page_ == Page::Plan || page_ == Page::Diff;
    if (another && decided) {
      top_ = 0;
      say(page_ == Page::Plan ? "This is another plan than before." : "This is other work than before.",
          Tone::Attention);
    }
    text_ = {
        update.focus, Document(page_ == Page::Diff ? Document::Kind::Diff : Document::Kind::Prose), {}, {}, {}, {}};
  }
  text_.digest = update.digest;
  text_.problem = update.problem;
  text_.document.append(update.text);
  text_.complete = update.last;
  text_.cut = update.cut;
  text_.late = update.late;
  if (text_.complete && !text_.cut && text_.problem.empty() && (page_ == Page::Plan || page_ == Page::Diff) &&
      opened_.insert(text_.digest).second)
    orders_.emplace_back(Remember{text_.digest});
  if (follow_) top_ = maximumTop();
  return true;
}

bool Model::applyTo(const ServiceUpdate& update) {
  const bool changed = there_ != update.there || service_ != update.words;
  there_ = update.there;
  service_ = update.words;
  return changed;
}

bool Model::applyTo(const OutcomeUpdate& update) {
  doing_.clear();
  const auto* decision = decisionOf(update.act.action);
  refused_.reset();
  if (update.failure) {
    tell(*update.failure);
    return true;
  }
  if (update.act.action == "reply") draft_.clear();
  if (update.act.action == "delete") open(Page::List);
  if (decision) say(std::format("{}, task {}.", decision->done, update.act.task), Tone::Good);
  return true;
}

void Model::say(std::string words, Tone tone) {
  status_ = std::move(words);
  statusTone_ = tone;
}

void Model::tell(const Failure& failure) {
  status_.clear();
  refused_ = failure;
}

void Model::begin(const Act& act) {
  if (act.action == "reply") {
    draft_ = act.text;
    draftTask_ = act.task;
  }
  const auto* decision = decisionOf(act.action);
  doing_ = std::format("{} ...", decision ? std::string(decision->doing) : act.action);
}

Focus Model::focus() const {
  Focus result{page_, task() ? task()->id : 0, {}};
  if (page_ == Page::Transcript || page_ == Page::Gate) result.run = run_;
  return result;
}

const Dictionary* Model::properties() const {
  return details_ && task() && details_->task == task()->id ? &details_->properties : nullptr;
}

bool Model::wantsBudget() const { return task() && task()->parked == "budget" && allows("retry"); }

bool Model::allows(std::string_view action) const {
  // The list and the task are read one after the other; what is offered is what both say.
  return task() && task()->allows(action) && properties() &&
         std::ranges::contains(textsOf(*properties(), "Actions"), action);
}

bool Model::read(std::string_view action) const {
  if (!properties()) return false;
  const auto digest = textOf(*properties(), action == "accept-plan" ? "PlanDigest" : "WorkDigest");
  return !digest.empty() && opened_.contains(digest);
}

bool Model::has(Page page) const {
  if (page == Page::List) return true;
  if (!properties()) return false;
  const auto runs = [&](bool gate) {
    return std::ranges::any_of(details_->runs,
                               [&](const Dictionary& run) { return (textOf(run, "Kind") == "gate") == gate; });
  };
  switch (page) {
    case Page::Plan:
      return !textOf(*properties(), "PlanDigest").empty();
    case Page::Diff:
      return !textOf(*properties(), "WorkDigest").empty();
    case Page::Transcript:
      return runs(false);
    case Page::Gate:
      return runs(true);
    case Page::Findings:
      return !details_->findings.empty();
    default:
      return true;
  }
}

std::vector<Page> Model::pages() const {
  std::vector<Page> result;
  for (const auto& entry : pageNames())
    if (has(entry.page) || entry.page == page_) result.push_back(entry.page);
  return result;
}

std::vector<std::uint64_t> Model::runsWithText() const {
  std::vector<std::uint64_t> result;
  if (!properties()) return result;
  for (const auto& run : details_->runs)
    if ((textOf(run, "Kind") == "gate") == (page_ == Page::Gate)) result.push_back(numberOf(run, "Id"));
  return result;
}

void Model::buildStyled() {
  text_ = {focus(), Document(Document::Kind::Prose), {}, {}, true, {}};
  if (!properties()) {
    text_.complete = false;
    return;
  }
  auto& document = text_.document;
  if (page_ == Page::Findings) {
    document.append(findingLines(details_->findings));
    return;
  }
  document.append(linesOf(fieldsOf(*properties(), std::nullopt)));
  for (const auto& part : {questionLines(*properties()), runLines(details_->runs, std::nullopt, width_),
                           refusalLines(*properties(), width_)}) {
    if (part.empty()) continue;
    document.append({StyledLine()});
    document.append(part);
  }
}

StyledLine Model::title() const {
  if (page_ != Page::List && task()) return {{fitted(" " + task()->name(), width_), Tone::Strong}};
  std::string counts;
  const auto add = [&](Group group, std::string_view one, std::string_view many) {
    if (const auto count = list_.count(group); count > 0)
      counts += std::format("{}{} {}", counts.empty() ? "" : ", ", count, count == 1 ? one : many);
  };
  add(Group::Waiting, "waits for you", "wait for you");
  add(Group::Working, "working", "working");
  add(Group::Parked, "parked", "parked");
  auto words = " Cofferdam" + (counts.empty() ? std::string() : "   " + counts);
  if (!list_.filter().empty()) words += "   only: " + list_.filter();
  return {{fitted(words, width_), Tone::Strong}};
}

std::string Model::place() {
  const auto height = bodyHeight();
  if (!text_.complete || text_.document.lines() == 0) return {};
  const auto rows = text_.document.rows(width_);
  return std::format("{}-{} of {}", std::min(top_ + 1, rows), std::min(top_ + height, rows), rows);
}

StyledLine Model::tabs() {
  if (page_ == Page::List) return {};
  StyledLine line;
  std::size_t used = 0;
  for (const auto page : pages()) {
    const auto name = std::string(nameOf(page));
    line.push_back({" "});
    line.push_back({name, page == page_ ? Tone::Mark : Tone::Plain});
    line.push_back({" "});
    used += name.size() + 2;
  }
  const auto where = place();
  if (!where.empty() && used + where.size() < width_)
    line.push_back({std::string(width_ - used - where.size(), ' ') + where, Tone::Faint});
  return line;
}

std::size_t Model::previewHeight() const {
  return page_ == Page::List && height_ >= kSmallHeight && mode_ != Mode::Help && task() ? kPreviewLines : 0;
}

std::vector<StyledLine> Model::preview() const {
  std::string rule;
  for (std::size_t i = 0; i < width_; ++i)
    rule += "─";
  std::vector<StyledLine> lines{{{rule, Tone::Faint}}};
  if (properties()) {
    std::ranges::move(questionLines(*properties()), std::back_inserter(lines));
    auto fields = fieldsOf(*properties(), std::nullopt);
    std::erase_if(fields, [](const Field& field) { return !std::ranges::contains(kPreviewFields, field.label); });
    std::ranges::move(linesOf(fields), std::back_inserter(lines));
  }
  lines.resize(previewHeight());
  return lines;
}

std::vector<StyledLine> Model::body() {
  const auto height = bodyHeight();
  std::vector<StyledLine> lines;
  if (mode_ == Mode::Help) {
    lines = helpLines();
    lines.resize(std::min(lines.size(), height));
    for (auto& line : lines)
      line = cropped(line, width_);
    return lines;
  }
  if (page_ == Page::List) {
    const auto under = previewHeight();
    const auto rows = height > under ? height - under : 0;
    const auto top = list_.top(rows);
    for (std::size_t row = top; row < std::min(top + rows, list_.rows().size()); ++row)
      lines.push_back(list_.line(row, width_));
    if (list_.rows().empty() && listed_)
      lines.push_back({{list_.empty() ? std::format("No tasks. Give one with: {} new \"what you want\"", command_)
                                      : "No task matches."}});
    if (under > 0) {
      lines.resize(rows);
      for (const auto& line : preview())
        lines.push_back(cropped(line, width_));
    }
    return lines;
  }
  if (!text_.problem.empty()) return {{{text_.problem}}};
  const auto rows = text_.document.rows(width_);
  const auto most = maximumTop();
  if (text_.complete) top_ = std::min(top_, most);
  for (auto row = std::min(top_, most); row < rows && lines.size() < height; ++row)
    lines.push_back(text_.document.row(row, left_, width_));
  return lines;
}

std::optional<std::size_t> Model::selectedLine() {
  if (page_ != Page::List || mode_ == Mode::Help || !task()) return std::nullopt;
  const auto under = previewHeight();
  const auto height = bodyHeight();
  return list_.selectedRow() - list_.top(height > under ? height - under : 0);
}

std::vector<StyledLine> Model::refusal() const {
  if (!refused_) return {};
  const auto wrapped = [this](const std::string& text, Tone tone) {
    Document document(Document::Kind::Prose);
    document.append(text);
    std::vector<StyledLine> lines;
    for (std::size_t row = 0; row < document.rows(width_); ++row) {
      lines.push_back(document.row(row, 0, width_));
      for (auto& cell : lines.back())
        cell.tone = tone;
    }
    return lines;
  };
  auto lines = wrapped(model::visibleText(refused_->message), Tone::Bad);
  const auto next =
      refused_->next.empty() ? std::vector<StyledLine>() : wrapped("next: " + refused_->next, Tone::Attention);
  // Not more than half of the screen, and the command in any case.
  const auto most = std::max<std::size_t>(height_ / 2, next.size() + 1) - next.size();
  if (lines.size() > most) {
    lines.resize(most);
    lines.back() = {{"…", Tone::Bad}};
  }
  std::ranges::copy(next, std::back_inserter(lines));
  return lines;
}

std::vector<StyledLine> Model::panel() const {
  auto lines = refusal();
  switch (mode_) {
    case Mode::Confirm:
      if (question_) std::ranges::copy(question_->lines, std::back_inserter(lines));
      break;
    case Mode::Reply:
      if (task()) lines.push_back({{std::format("Reply to task {}", task()->name()), Tone::Attention}});
      break;
    case Mode::Branch:
      lines.push_back({{"Land on which branch? It is made if need be.", Tone::Attention}});
      break;
    case Mode::Filter:
      lines.push_back({{"Only tasks that hold:", Tone::Attention}});
      break;
    default:
      break;
  }
  for (auto& line : lines)
    line = cropped(line, width_);
  return lines;
}

StyledLine Model::status() const {
  if (!doing_.empty()) return {{fitted(doing_, width_), Tone::Attention}};
  if (!there_) return {{fitted(service_, width_), Tone::Attention}};
  if (!status_.empty()) return {{fitted(status_, width_), statusTone_}};
  if (!listed_) return {{"Reading the tasks ...", Tone::Faint}};
  if (page_ == Page::List || mode_ == Mode::Help) return {};
  if (!text_.complete)
    return {
        {text_.document.bytes() == 0 ? "Reading ..." : std::format("Reading ... {}", sizeText(text_.document.bytes())),
         Tone::Faint}};
  if (text_.cut)
    return {{fitted(std::format("There is more than what is shown here: {} {} ...", command_,
                                page_ == Page::Diff ? "diff" : "log"),
                    width_),
             Tone::Attention}};
  if ((page_ == Page::Plan || page_ == Page::Diff) && text_.problem.empty())
    return {{fitted("digest " + text_.digest, width_), Tone::Faint}};
  if (page_ == Page::Transcript || page_ == Page::Gate) {
    const auto runs = runsWithText();
    const auto shown = run_ ? *run_ : runs.empty() ? 0 : runs.back();
    for (const auto& run : properties() ? details_->runs : std::vector<Dictionary>())
      if (numberOf(run, "Id") == shown) {
        const RunView view(run);
        return {{fitted(std::format("run {}: {}: {}", view.id, view.what(),
                                    view.ended != 0 ? view.outcome()
                                    : text_.late    ? "it goes on; this is its end by now"
                                                    : "it goes on"),
                        width_),
                 Tone::Faint}};
      }
  }
  return {};
}

std::vector<StyledLine> Model::hintLines() const {
  std::vector<StyledLine> lines(1);
  std::size_t used = 0;
  for (const auto& hint : hints()) {
    const auto needed = displayWidth(hint.key) + 1 + displayWidth(hint.words);
    if (used > 0 && used + 2 + needed > width_) {
      lines.emplace_back();
      used = 0;
    }
    if (used > 0) lines.back().push_back({"  "});
    lines.back().push_back({hint.key, Tone::Strong});
    lines.back().push_back({" " + hint.words, Tone::Faint});
    used += (used > 0 ? 2 : 0) + needed;
  }
  return lines;
}

std::size_t Model::inputHeight() const {
  if (mode_ == Mode::Reply) return kReplyLines;
  return mode_ == Mode::Branch || mode_ == Mode::Filter ? 1 : 0;
}

std::size_t Model::bodyHeight() const {
  const auto around = 2 + (page_ == Page::List ? 0 : 1) + panel().size() + inputHeight() + hintLines().size();
  return height_ > around ? height_ - around : 1;
}

std::size_t Model::maximumTop() {
  const auto rows = text_.document.rows(width_);
  const auto height = bodyHeight();
  return rows > height ? rows - height : 0;
}

}  // namespace coffer::cli::ui
