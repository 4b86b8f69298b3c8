#pragma once

#include <cstdint>
#include <vector>

#include "api/views.hpp"
#include "engine/accounts.hpp"
#include "model/event.hpp"
#include "model/task.hpp"
#include "store/store.hpp"

namespace coffer::engine {

/// What the bus shows of what is stored. Pure.
api::TaskView taskView(const model::Task& task, const store::Project& project, const std::string& question,
                       const std::vector<store::Refusal>& refusals);
api::ProjectView projectView(const store::Project& project);
api::ProviderView providerView(const store::Provider& provider, const AccountNames& names);
api::EventView eventView(std::uint64_t task, const model::Event& event);
api::RunView runView(const store::Run& run);
api::FindingView findingView(const store::Finding& finding);

/// The first line of a request, short enough for a table.
std::string titleOf(std::string_view prompt);

}  // namespace coffer::engine
