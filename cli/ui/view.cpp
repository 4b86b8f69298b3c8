#include "ui/view.hpp"

#include <atomic>
#include <csignal>
#include <ftxui/component/component.hpp>
#include <ftxui/component/component_base.hpp>
#include <ftxui/component/component_options.hpp>
#include <ftxui/component/event.hpp>
#include <ftxui/component/mouse.hpp>
#include <ftxui/screen/terminal.hpp>
#include <map>
#include <string>

#include <glib.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "terminal.hpp"
#include "ui/drawing.hpp"
#include "ui/feed.hpp"
#include "ui/model.hpp"
#include "ui/stage.hpp"
#include "ui/stop_signals.hpp"

namespace coffer::cli::ui {

namespace {

/// Lines that a step of the wheel moves.
constexpr int kWheelLines = 3;

bool types(Mode mode) { return mode == Mode::Reply || mode == Mode::Branch || mode == Mode::Filter; }

std::string keyOf(const ftxui::Event& event) {
  static const std::map<std::string, std::string> names = {
      {ftxui::Event::Return.input(), "Enter"},
      {ftxui::Event::Escape.input(), "Esc"},
      {ftxui::Event::Tab.input(), "Tab"},
      {ftxui::Event::TabReverse.input(), "BackTab"},
      {ftxui::Event::ArrowUp.input(), "Up"},
      {ftxui::Event::ArrowDown.input(), "Down"},
      {ftxui::Event::ArrowLeft.input(), "Left"},
      {ftxui::Event::ArrowRight.input(), "Right"},
      {ftxui::Event::PageUp.input(), "PageUp"},
      {ftxui::Event::PageDown.input(), "PageDown"},
      {ftxui::Event::Home.input(), "Home"},
      {ftxui::Event::End.input(), "End"},
      {"\x1b[1~", "Home"},
      {"\x1b[4~", "End"},
      {"\x04", "CtrlD"},
      {"\x0c", "CtrlL"},
  };
  if (event.is_character()) return event.character();
  const auto found = names.find(event.input());
  return found == names.end() ? std::string() : found->second;
}

class View final : public ftxui::ComponentBase {
 public:
  View(Session& session, std::unique_ptr<Connection> bus)
      : session_(session),
        model_(session.command("").substr(0, session.command("").size() - 1)),
        signals_([this](int signal) { signalled(signal); }),
        feed_(std::move(bus), session.options().host, [this] { stage_.wake(); }) {
    ftxui::InputOption option;
    option.content = &model_.input();
    option.multiline = &multiline_;
    option.cursor_position = &cursor_;
    option.transform = [](ftxui::InputState state) { return state.element; };
    input_ = ftxui::Input(option);
    Add(input_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() override = default;

  void run() {
    while (!left_) {
      stage_.draw(Render());
      auto happened = stage_.wait();
      if (happened.woken) news();
      for (auto& key : happened.keys)
        if (!left_) OnEvent(std::move(key));
      settle();
      if (happened.gone) left_ = true;
    }
  }

  ftxui::Element Render() override {
    const auto size = ftxui::Terminal::Size();
    model_.resize(static_cast<std::size_t>(size.dimx), static_cast<std::size_t>(size.dimy));
    return drawing(model_, types(model_.mode()) ? input_->Render() : ftxui::emptyElement(), session_.terminal().colour);
  }

  bool OnEvent(ftxui::Event event) override {
    if (event.is_mouse())
      mouse(event.mouse());
    else if (!event.input().empty())
      typed(event);
    settle();
    return true;
  }

 private:
  /// What keys and news led to.
  void settle() {
    carryOut();
    if (const auto focus = model_.focus(); focus != focus_) {
      focus_ = focus;
      feed_.look(focus);
    }
  }

  /// On a thread of its own. (That the terminal has another size shows when it is drawn.)
  void signalled(int signal) {
    if (signal == SIGTSTP) suspended_ = true;
    if (signal == SIGINT || signal == SIGQUIT || signal == SIGTERM) ended_ = true;
    stage_.wake();
  }

  void news() {
    if (ended_) left_ = true;
    if (suspended_.exchange(false))
      restored([] {
        StopSignals::allow(true);
        std::raise(SIGTSTP);
      });
    for (const auto& update : feed_.take()) {
      const auto* outcome = std::get_if<OutcomeUpdate>(&update);
      if (outcome && outcome->failure && mayAsk(*outcome))
        withPassword(outcome->act);
      else
        model_.apply(update);
    }
  }

  void mouse(const ftxui::Mouse& mouse) {
    if (types(model_.mode())) return;
    const bool up = mouse.button == ftxui::Mouse::WheelUp;
    if (up || mouse.button == ftxui::Mouse::WheelDown) {
      for (int i = 0; i < kWheelLines && model_.mode() == Mode::Browse; ++i)
        model_.press(up ? "Up" : "Down");
    } else if (mouse.button == ftxui::Mouse::Left && mouse.motion == ftxui::Mouse::Pressed && mouse.y > 0) {
      model_.click(static_cast<std::size_t>(mouse.y - 1));
    }
  }

  void typed(const ftxui::Event& event) {
    const auto key = keyOf(event);
    if (key == "CtrlL") {
      Stage::clear();
      return;
    }
    const auto mode = model_.mode();
    multiline_ = mode == Mode::Reply;
    if (types(mode) && key != "Esc" && key != "CtrlD" && (key != "Enter" || multiline_)) {
      input_->OnEvent(event);
      model_.typed();
      return;
    }
    if (!key.empty()) model_.press(key);
    if (types(model_.mode()) && model_.mode() != mode) {
      multiline_ = model_.mode() == Mode::Reply;
      cursor_ = static_cast<int>(model_.input().size());
    }
  }

  void carryOut() {
    for (auto& order : model_.takeOrders()) {
      if (auto* act = std::get_if<Act>(&order)) {
        model_.begin(*act);
        feed_.act(std::move(*act));
      } else if (auto* shown = std::get_if<Remember>(&order)) {
        feed_.remember(std::move(shown->digest));
      } else if (const auto* edit = std::get_if<Edit>(&order)) {
        write(*edit);
      } else {
        left_ = true;
      }
    }
  }

  /// Runs something on the terminal as it was before.
  void restored(const std::function<void()>& what) {
    stage_.restored([&] {
      StopSignals::allow(true);
      what();
      StopSignals::allow(false);
    });
  }

  void write(const Edit& edit) {
    std::expected<Written, Failure> written;
    restored([&] { written = readFromEditor(edit.about, limits::kTextBytes); });
    if (!written) {
      model_.tell(written.error());
    } else if (!g_utf8_validate(written->text.data(), static_cast<gssize>(written->text.size()), nullptr)) {
      auto failed = notText("reply").error();
      failed.message += whereWritten(written->file);
      model_.tell(failed);
    } else {
      // From here on the model keeps it until it was taken.
      unlink(written->file.c_str());
      Act act{"reply", edit.task, {}, std::move(written->text)};
      model_.begin(act);
      feed_.act(std::move(act));
    }
  }

  [[nodiscard]] bool mayAsk(const OutcomeUpdate& outcome) const {
    return outcome.failure->exit == ExitCode::NotAllowed && !outcome.act.action.empty() &&
           session_.options().askPassword && session_.options().host.empty();
  }

  /// The same once more, now that a password may be asked for.
  void withPassword(const Act& act) {
    OutcomeUpdate outcome{act, {}};
    restored([&] {
      const auto* decision = decisionOf(act.action);
      session_.note(std::string(decision ? decision->doing : "This") + " needs a password.\n");
      try {
        auto bus = session_.connectForChange();
        if (bus)
          Feed::carryOut(**bus, act);
        else
          outcome.failure = bus.error();
      } catch (const sdbus::Error& error) {
        outcome.failure = failureOf(error, act.task, {});
      }
    });
    model_.apply(outcome);
  }

  Session& session_;
  Model model_;
  Stage stage_;
  ftxui::Component input_;
  bool multiline_ = false;
  int cursor_ = 0;
  Focus focus_;

  bool left_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> suspended_ = false;

  // Threads last: they use what is above.
  StopSignals signals_;
  Feed feed_;
};

}  // namespace

Outcome show(Session& session, std::unique_ptr<Connection> bus) {
  const auto view = std::make_shared<View>(session, std::move(bus));
  view->run();
  return ExitCode::Done;
}

}  // namespace coffer::cli::ui
