#pragma once

#include "failure.hpp"
#include "invocation.hpp"

/// Every verb, one file each. addX() gives the verb to the grammar; parsing it sets Invocation::run.
namespace coffer::cli {

void addNew(CLI::App& parent, Invocation& invocation);
void addList(CLI::App& parent, Invocation& invocation);
void addUi(CLI::App& parent, Invocation& invocation);
void addShow(CLI::App& parent, Invocation& invocation);
void addWatch(CLI::App& parent, Invocation& invocation);
void addPlan(CLI::App& parent, Invocation& invocation);
void addDiff(CLI::App& parent, Invocation& invocation);
void addReview(CLI::App& parent, Invocation& invocation);
void addAccept(CLI::App& parent, Invocation& invocation);
void addReply(CLI::App& parent, Invocation& invocation);
void addRetry(CLI::App& parent, Invocation& invocation);
void addLog(CLI::App& parent, Invocation& invocation);
void addCancel(CLI::App& parent, Invocation& invocation);
void addDelete(CLI::App& parent, Invocation& invocation);

void addProjectAdd(CLI::App& parent, Invocation& invocation);
void addProjectList(CLI::App& parent, Invocation& invocation);
void addProjectSet(CLI::App& parent, Invocation& invocation);
void addProjectShow(CLI::App& parent, Invocation& invocation);
void addProjectRemove(CLI::App& parent, Invocation& invocation);

void addProviderAdd(CLI::App& parent, Invocation& invocation);
void addProviderKey(CLI::App& parent, Invocation& invocation);
void addProviderAllow(CLI::App& parent, Invocation& invocation);
void addProviderDeny(CLI::App& parent, Invocation& invocation);
void addProviderList(CLI::App& parent, Invocation& invocation);
void addProviderSet(CLI::App& parent, Invocation& invocation);
void addProviderRemove(CLI::App& parent, Invocation& invocation);

void addAgentList(CLI::App& parent, Invocation& invocation);
void addAgentTest(CLI::App& parent, Invocation& invocation);

void addDoctor(CLI::App& parent, Invocation& invocation);
void addNotify(CLI::App& parent, Invocation& invocation);
void addComplete(CLI::App& parent, Invocation& invocation);

/// `coffer` alone.
Outcome overview(Session& session);

}  // namespace coffer::cli
