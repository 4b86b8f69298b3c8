#pragma once

#include <random>
#include <string>
#include <string_view>

namespace coffer::collector {

/// A changed copy of a text, for tests that throw broken input at a parser: bytes flipped, cut, doubled, or swapped for
/// ones that mean something to parsers. The same seed gives the same texts.
class Mutations {
 public:
  explicit Mutations(std::uint32_t seed) : random_(seed) {}

  std::string of(std::string text) {
    using namespace std::string_view_literals;
    static constexpr auto kMeaning = "\"\\{}[]:,+-#`\n\r\0\xff\xc3 0eE."sv;
    for (auto changes = below(6) + 1; changes > 0 && !text.empty(); --changes) {
      const auto at = below(text.size());
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text[at] = kMeaning[below(kMeaning.size())];
          break;
        case 2:
          text.erase(at, below(20) + 1);
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(40)));
          break;
        case 4:
          text.insert(at, std::string(below(300), kMeaning[below(kMeaning.size())]));
          break;
        default:
          if (below(4) == 0) text.resize(at);
      }
    }
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  std::mt19937 random_;
};

}  // namespace coffer::collector
