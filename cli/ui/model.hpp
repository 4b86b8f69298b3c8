#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ui/decisions.hpp"
#include "ui/document.hpp"
#include "ui/messages.hpp"
#include "ui/task_list.hpp"

namespace coffer::cli::ui {

/// What a key asks the program around the view for.
struct Remember {  ///< the text with this digest was shown
  std::string digest;
};
struct Edit {  ///< a reply in the person's editor
  std::uint64_t task = 0;
  std::string about;
};
struct Leave {};
using Order = std::variant<Act, Remember, Edit, Leave>;

enum class Mode : std::uint8_t { Browse, Confirm, Reply, Branch, Filter, Help };

struct Hint {
  std::string key;
  std::string words;
  bool operator==(const Hint&) const = default;
};

/// Everything the view shows and what every key does, without a terminal and without a bus. Keys have names: the
/// character itself, or Enter, Esc, Tab, BackTab, Up, Down, Left, Right, PageUp, PageDown, Home, End, CtrlD.
class Model {
 public:
  /// `command`: "coffer", with -H when that was given.
  explicit Model(std::string command) : command_(std::move(command)) {}

  void resize(std::size_t width, std::size_t height);
  /// False when it changes nothing that is shown.
  bool apply(const Update& update);
  void press(std::string_view key);
  /// A click on a line of the body; another one on the selected task opens it.
  void click(std::size_t line);
  /// What keys and updates led to since it was last asked, oldest first.
  std::vector<Order> takeOrders() { return std::exchange(orders_, {}); }
  /// The text of input() was changed by typing.
  void typed();
  /// Says something below the body until the next key.
  void say(std::string words, Tone tone);
  /// Says why something was not done, and what helps, whole, until the next key.
  void tell(const Failure& failure);
  /// What was decided is being done. A reply is kept until it was taken.
  void begin(const Act& act);

  [[nodiscard]] Focus focus() const;
  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] Page page() const { return page_; }
  /// What is typed in the modes Reply, Branch and Filter.
  std::string& input() { return input_; }

  // What is drawn, from top to bottom.
  [[nodiscard]] StyledLine title() const;
  /// The pages of the open task, the shown one Strong; empty on the list.
  StyledLine tabs();
  /// As many lines as there are, at most bodyHeight().
  std::vector<StyledLine> body();
  /// The line of the body that is selected, if it is on the screen.
  std::optional<std::size_t> selectedLine();
  /// What the panel between body and status says: a question, what an input is for.
  [[nodiscard]] std::vector<StyledLine> panel() const;
  [[nodiscard]] StyledLine status() const;
  /// The keys that do something now.
  [[nodiscard]] std::vector<Hint> hints() const;

  [[nodiscard]] std::size_t width() const { return width_; }
  /// Lines of the keys below, at this width.
  [[nodiscard]] std::vector<StyledLine> hintLines() const;
  [[nodiscard]] std::size_t inputHeight() const;
  [[nodiscard]] std::size_t bodyHeight() const;

 private:
  struct Text {
    Focus focus;
    Document document{Document::Kind::Prose};
    std::string digest;
    std::string problem;
    bool complete = false;
    bool cut = false;
    bool late = false;
  };

  bool applyTo(const TasksUpdate& update);
  bool applyTo(const TaskUpdate& update);
  bool applyTo(const TextUpdate& update);
  bool applyTo(const ServiceUpdate& update);
  bool applyTo(const OutcomeUpdate& update);

  void browse(std::string_view key);
  void browseList(std::string_view key);
  void browseTask(std::string_view key);
  void answer(std::string_view key);
  void write(std::string_view key);
  /// True when the key stands for a decision, allowed or not.
  bool decide(std::string_view key);
  void ask(std::string_view action, const std::string& branch);
  bool scroll(std::string_view key);
  void open(Page page);
  void openNeighbour(int by);
  void stepRun(int by);
  void startReply();
  void leaveInput();

  /// The pages that the selected task has something for.
  [[nodiscard]] bool has(Page page) const;
  [[nodiscard]] std::vector<Page> pages() const;
  [[nodiscard]] const TaskView* task() const { return list_.selected(); }
  /// The properties of the selected task, when they have come.
  [[nodiscard]] const Dictionary* properties() const;
  [[nodiscard]] bool allows(std::string_view action) const;
  /// Whether trying again would stop at once: there is no budget left, and a key says no number.
  [[nodiscard]] bool wantsBudget() const;
  /// Whether the text whose digest an action takes was opened here.
  [[nodiscard]] bool read(std::string_view action) const;
  [[nodiscard]] std::vector<std::uint64_t> runsWithText() const;
  /// Makes the text of a page that consists of what the bus says of the task.
  void buildStyled();
  [[nodiscard]] std::vector<StyledLine> refusal() const;
  [[nodiscard]] std::size_t previewHeight() const;
  [[nodiscard]] std::vector<StyledLine> preview() const;
  std::size_t maximumTop();
  std::string place();

  std::string command_;
  std::size_t width_ = 80;
  std::size_t height_ = 24;
  Mode mode_ = Mode::Browse;
  Page page_ = Page::List;

  bool there_ = true;
  std::string service_;
  bool listed_ = false;
  TaskList list_;
  std::optional<TaskUpdate> details_;
  std::optional<std::uint64_t> run_;  ///< whose transcript or output is shown, when it is not the last
  Text text_;
  std::size_t top_ = 0;
  std::size_t left_ = 0;
  bool follow_ = false;  ///< at the end of a transcript, and staying there
  std::set<std::string> opened_;

  std::vector<Order> orders_;
  std::optional<Question> question_;
  std::optional<Failure> refused_;
  std::string input_;
  std::string draft_;            ///< a reply that was not sent
  std::uint64_t draftTask_ = 0;  ///< and whose it is
  std::string doing_;
  std::string status_;
  Tone statusTone_ = Tone::Plain;
};

}  // namespace coffer::cli::ui
