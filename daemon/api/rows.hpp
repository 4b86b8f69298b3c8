#pragma once

#include "api/views.hpp"
#include "api/writer.hpp"

namespace coffer::api {

// Entries of the lists that the interfaces give, each an a{sv} as described there.
void writeTaskRow(Writer& writer, const TaskView& task);
void writeRunRow(Writer& writer, const RunView& run);
void writeFindingRow(Writer& writer, const FindingView& finding);
void writeAgentTest(Writer& writer, const AgentTestView& test);
void writeCheckRow(Writer& writer, const CheckView& check);

}  // namespace coffer::api
