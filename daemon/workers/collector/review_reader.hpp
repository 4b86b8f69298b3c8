#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::collector {

/// One thing a reviewer found.
struct Finding {
  std::string id;          ///< of path and normalised title: the same finding has the same id in the next round
  std::string severity;    ///< error, warning or info
  std::string path;        ///< relative to the repository, "/" between components, never leading out; empty = the whole
  std::uint64_t line = 0;  ///< from 1; 0 = the whole file
  std::string title;
  std::string text;
};

/// A review as it is understood.
struct ReviewReading {
  std::string refusal;  ///< empty, or a sentence that tells the reviewer what to mend
  std::vector<std::string> checked;
  std::vector<Finding> findings;
};

/// Reads review.json. Total: any bytes give a reading.
ReviewReading readReview(std::string_view json);

/// 16 hexadecimal digits of the SHA-256 of path and title, the title without case, punctuation and spaces that differ.
std::string findingId(std::string_view path, std::string_view title);

}  // namespace coffer::collector
