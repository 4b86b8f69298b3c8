#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Every quantity that somebody else controls, with its name. docs/limits.md is made from this file: the comment before
/// a constant is its row, so it says the unit, who controls the quantity, and what happens at the limit.
namespace coffer::limits {

/// Bytes of one text a person or an agent hands over (prompt, plan, question, reply, review). More is refused with
/// TooLarge.
inline constexpr std::size_t kTextBytes = 256 * 1024;

/// Bytes of what the person and the writer said in a task, as an agent is told it (comments.md). The oldest is left
/// out, and that is said; the newest never is. As long as one text, so that a prompt holds all of it.
inline constexpr std::size_t kCommentsBytes = kTextBytes;

/// Bytes of a worker's report. A longer one is a fault of the worker.
inline constexpr std::size_t kReportBytes = 8 * 1024 * 1024;

/// Records in a worker's request or report. More is a fault of the worker.
inline constexpr std::size_t kReportRecords = 65536;

/// Bytes of a diff that is shown. Work with a longer one is refused with TooLarge: nobody can accept half of it.
inline constexpr std::size_t kDiffBytes = 8 * 1024 * 1024;

/// Bytes of a log or transcript that is shown. A longer one is cut at the front and says so.
inline constexpr std::size_t kLogShownBytes = 8 * 1024 * 1024;

/// Fix rounds of a task when nobody says otherwise. When they are used up the task goes to the person.
inline constexpr std::uint64_t kRounds = 3;

/// Fix rounds a person may ask for. More is refused with Limit.
inline constexpr std::uint64_t kRoundsMost = 20;

/// Passing troubles of a provider in a row before a task waits for a person instead of a clock.
inline constexpr std::uint64_t kTroubles = 4;

/// Microseconds until a turn is begun again after the first passing trouble; each further one doubles it.
inline constexpr std::uint64_t kTroublePause = 30'000'000;

/// Microseconds that a task waits at least for a provider's limit, whatever the provider says: one that says "at once"
/// every time would have the turn begun without end.
inline constexpr std::uint64_t kQuotaPauseLeast = 10'000'000;

/// Times in a row that a step is run again because the system manager forgot it (reboot, crash) before the task waits
/// for a person.
inline constexpr std::uint64_t kInterruptions = 5;

/// Bytes of a task's title; whoever makes the task controls it. A longer one is cut.
inline constexpr std::size_t kTitleBytes = 200;

/// Bytes of a sentence about a failure that is kept in an event. A longer one is cut.
inline constexpr std::size_t kWordsBytes = 2000;

/// Bytes of an agent's own words within such a sentence. The rest is in the log.
inline constexpr std::size_t kSaidBytes = 400;

/// Bytes that a task's image has left when it counts as full: less than the smallest thing a turn leaves.
inline constexpr std::uint64_t kFullBytes = 1024ULL * 1024;

/// Characters of a plan's summary. A plan with a longer one is sent back to the planner.
inline constexpr std::size_t kSummaryCharacters = 72;

/// Bytes that stay free on the disk of the store for what runs already. Below that a person's decision is refused with
/// NoSpace before anything is stored.
inline constexpr std::uint64_t kStoreReserveBytes = 32ULL * 1024 * 1024;

/// Milliseconds that a program which holds the store (an administrator's sqlite3) is waited for. After that the call is
/// Busy.
inline constexpr int kStoreBusyMilliseconds = 2000;

/// Different network refusals of a task that are kept apart; the agent controls them. The rest is counted as one.
inline constexpr std::uint64_t kRefusalRows = 512;

/// Bytes of one file of ours or of the administrator's (descriptor, flow, provider, prompt, configuration). A longer
/// one is a bad file.
inline constexpr std::size_t kDataFileBytes = 256 * 1024;

/// Rules of one agent's descriptor that select lines, and that tell errors apart. More is a bad file.
inline constexpr std::size_t kProtocolRules = 64;

/// Bytes of a word an agent or a person chooses that becomes part of an agent's command (session, model). A longer one
/// is refused.
inline constexpr std::size_t kAgentWordBytes = 256;

/// Bytes of one line of an agent's output that is parsed. A longer one is skipped and counted.
inline constexpr std::size_t kOutputLineBytes = 1024 * 1024;

/// Lines of an agent's output that are no JSON and are put into the transcript. The others are counted.
inline constexpr std::size_t kGarbageLinesShown = 100;

/// Bytes of all files an agent leaves in one turn. What is over it is refused, in the order of the files' weight.
inline constexpr std::size_t kExchangeBytes = 4 * 1024 * 1024;

/// Bytes of a turn's transcript; the middle of a longer one is left out. One entry of it; the same.
inline constexpr std::size_t kTranscriptBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kTranscriptEntryBytes = 64 * 1024;

/// Criteria of a plan. A plan with more is refused.
inline constexpr std::size_t kPlanCriteria = 200;

/// Findings of one review, and sentences on what was checked. A review with more is refused; a longer title or text is
/// cut.
inline constexpr std::size_t kFindings = 200;
inline constexpr std::size_t kFindingTitleBytes = 300;
inline constexpr std::size_t kFindingTextBytes = 16 * 1024;

/// Bytes of a path in a finding. A longer one is refused.
inline constexpr std::size_t kPathBytes = 4096;
/// Sandbox network namespaces at once. One more is refused with Limit.
inline constexpr std::size_t kNamespaces = 512;

/// Descriptors that coffer-walls keeps with the service manager: four a namespace, the host table's socket, its own
/// listener. The same number stands in units/coffer-walls.service (FileDescriptorStoreMax=).
inline constexpr std::size_t kStoredDescriptors = 4 * kNamespaces + 8;

/// Mounts of one kind (images, workspaces, sources) at once. One more is refused with Limit.
inline constexpr std::size_t kMountsOfAKind = 1024;

/// Destinations counted as refused for one sandbox and address family. More are refused all the same and shown as "and
/// more".
inline constexpr std::uint32_t kRefusals = 1024;

/// Entries in one set of the host table (ports, exact addresses, name servers). More are refused with Limit.
inline constexpr std::size_t kHostEntries = 1024;

/// Connections to coffer-walls at once (all cofferd's). The next one is closed.
inline constexpr std::size_t kWallsConnections = 16;

/// Connections of an agent that wait for its gateway or resolver to accept them. More are refused by the kernel.
inline constexpr int kListenBacklog = 256;

/// How long an unmount or a new mount of the same image waits for a unit that holds a copy of the mount for a moment.
/// Then it is Busy.
inline constexpr std::chrono::milliseconds kUnmountWait{250};

/// How long is waited for an image whose unmount has begun: what was written in it goes to the disk first, and nothing
/// touches its file before. At the limit the step fails, and the next one waits again.
inline constexpr std::chrono::seconds kWriteBackTime{600};

/// How long one request may remove files of an agent; it is asked again until the directory is gone.
inline constexpr std::chrono::milliseconds kRemoveTime{200};

/// Tries to get a loop device, which other programs of the host take too. Then it is Environment.
inline constexpr int kLoopAttempts = 64;

/// Seconds a repository worker may run (an owner's whole history is the longest). At the limit it ends, and the step
/// fails.
inline constexpr unsigned kRepositorySeconds = 1800;

/// Seconds a worker may run that reads what an agent left in one turn. At the limit it ends, and the turn has failed.
inline constexpr unsigned kCollectSeconds = 600;

/// Bytes of a pack that holds an owner's base snapshot. A larger one is refused with TooLarge.
inline constexpr std::uint64_t kSnapshotPackBytes = 16ULL << 30;

/// Objects in a pack that holds an owner's base snapshot. More is refused with TooLarge.
inline constexpr std::uint64_t kSnapshotObjects = 20'000'000;

/// Bytes of a pack that holds what an agent committed. A larger one is refused with TooLarge.
inline constexpr std::uint64_t kWorkPackBytes = 2ULL << 30;

/// Objects in a pack that holds what an agent committed. More is refused with TooLarge.
inline constexpr std::uint64_t kWorkObjects = 1'000'000;

/// Bytes of HEAD, a ref or an exclude file of a repository. A larger one counts as broken.
inline constexpr std::size_t kRefBytes = 64 * 1024;

/// Bytes of a repository's packed-refs. A larger file is refused with TooLarge.
inline constexpr std::size_t kPackedRefsBytes = 64 * 1024 * 1024;

/// Bytes of the index of an owner's checkout. A larger one: which paths are dirty is not told, and nothing lands there.
inline constexpr std::size_t kIndexBytes = 256 * 1024 * 1024;

/// Files looked at in the object database of a clone (loose objects and packs). More is refused with Limit.
inline constexpr std::size_t kObjectFiles = 2'000'000;

/// Bytes of one tree object. A larger one is refused with TooLarge.
inline constexpr std::size_t kTreeBytes = 64 * 1024 * 1024;

/// Bytes of one .gitattributes that is searched for filters. What lies behind is not searched.
inline constexpr std::size_t kAttributesBytes = 1024 * 1024;

/// Bytes of a list of paths that git prints for us (names of a whole tree). A longer one is refused with TooLarge.
inline constexpr std::size_t kPathListBytes = 512 * 1024 * 1024;

/// Risky paths named where a person is told of them. The count is right, the rest is in the diff.
inline constexpr std::size_t kRiskyShown = 20;

/// Paths named in a report (dirty, changed, colliding). The count is right, the rest is not named.
inline constexpr std::size_t kPathsShown = 2000;

/// Bytes of all paths named in a report.
inline constexpr std::size_t kPathBytesShown = 1024 * 1024;

/// Commit subjects named in a report, and bytes of each.
inline constexpr std::size_t kSubjectsShown = 50;
inline constexpr std::size_t kSubjectBytes = 200;

/// Projects of one user. One more is refused with Limit.
inline constexpr std::size_t kProjectsOfUser = 256;

/// Providers of one user, and as many of the machine. One more is refused with Limit.
inline constexpr std::size_t kProvidersOfUser = 32;

/// Tasks of one user that have not ended. One more is refused with Limit.
inline constexpr std::size_t kOpenTasksOfUser = 1024;

/// Repositories of one user that are read or written at a time (snapshots, landings); each is up to three of
/// kMountsOfAKind, and slow ones hold them for long. The next one waits.
inline constexpr std::size_t kRepositoriesOfUser = 8;

/// Plans of one user that are read at a time, each by a worker, before their task is made. The next one waits.
inline constexpr std::size_t kPlansOfUser = 4;

/// Paths one landing may change. More is refused with Limit.
inline constexpr std::size_t kLandedPaths = 200'000;

/// Bytes of a request's body that the model gateway takes from an agent. A longer one is answered with 413.
inline constexpr std::size_t kGatewayRequestBytes = 32 * 1024 * 1024;

/// Bytes of a request's or reply's header at the gateway. A longer one is answered with 431, the connection closed.
inline constexpr std::uint32_t kGatewayHeaderBytes = 64 * 1024;

/// Bytes of a request's target (path and query) at the gateway. A longer one is refused.
inline constexpr std::size_t kGatewayTargetBytes = 512;

/// Bytes of one event in a reply, or of a reply that is one JSON text, that are kept to count tokens: the last event of
/// a reply repeats the whole answer. What is longer is passed on, but its tokens are estimated from its bytes.
inline constexpr std::size_t kGatewayEventBytes = 8 * 1024 * 1024;

/// Bytes of a provider's error text that are kept to tell errors apart. The rest is passed on unread.
inline constexpr std::size_t kGatewayErrorBytes = 64 * 1024;

/// Connections of a sandbox to its gateway at once. More wait in the listener's queue.
inline constexpr std::size_t kGatewayConnections = 64;

/// Bytes of memory of a sandbox's gateway, and of its resolver, which hold what an agent sends them. At the limit the
/// one that has them ends and is started again: no other of the user's agents pays for them.
inline constexpr std::uint64_t kGatewayMemory = 1024ULL * 1024 * 1024;
inline constexpr std::uint64_t kResolverMemory = 128ULL * 1024 * 1024;

/// Processes and threads of a gateway, and of a resolver: each has one, and a second to look up names.
inline constexpr std::uint64_t kServerProcesses = 16;

/// Idle connections to a provider that a gateway keeps for its next request.
inline constexpr std::size_t kGatewayIdleConnections = 8;

/// Requests of one run that are forwarded. The next one is answered with 429: its record would not fit a report.
inline constexpr std::uint64_t kGatewayRequests = 4000;

/// Refused requests of one run that are recorded one by one. More are only counted.
inline constexpr std::uint64_t kGatewayRefusals = 64;

/// Tokens held back from a run's budget for the answer of each request that is under way. Freed when the real count is
/// known.
inline constexpr std::uint64_t kGatewayReservedOutput = 8192;

/// Bytes that count as one token where a provider said nothing, or an agent hung up before it could.
inline constexpr std::uint64_t kGatewayBytesPerToken = 4;

/// Bytes of a model key or a dummy key.
inline constexpr std::size_t kGatewayKeyBytes = 4096;

/// Seconds an agent's connection may lie idle between two requests.
inline constexpr int kGatewayIdleSeconds = 300;

/// Seconds an agent may take for a request's header.
inline constexpr int kGatewayHeaderSeconds = 30;

/// Seconds without progress of an agent that sends its body or reads its reply.
inline constexpr int kGatewayStallSeconds = 120;

/// Seconds for a connection to a provider, and again for its TLS handshake.
inline constexpr int kGatewayConnectSeconds = 15;

/// Seconds a provider may take to its first byte: a model thinks before it speaks.
inline constexpr int kGatewayFirstByteSeconds = 600;

/// Seconds without a byte in the middle of a provider's reply.
inline constexpr int kGatewayReplySeconds = 300;

/// Seconds an idle connection to a provider is kept.
inline constexpr int kGatewayKeepSeconds = 30;

/// Seconds a gateway gives its open requests to be recorded when it is told to stop.
inline constexpr int kGatewayStopSeconds = 3;

/// Different names of one run that its resolver remembers. More are only counted.
inline constexpr std::size_t kResolverNames = 512;

/// Queries a second that the resolver answers, and how many at once after a rest. More are dropped and counted.
inline constexpr std::uint64_t kResolverQueriesPerSecond = 1000;
inline constexpr std::uint64_t kResolverBurst = 2000;

/// Bytes of a query the resolver looks at. A longer one is dropped.
inline constexpr std::size_t kResolverQueryBytes = 4096;

/// TCP connections to the resolver at once, and the seconds one may lie idle. More are closed at once.
inline constexpr std::size_t kResolverConnections = 32;
inline constexpr int kResolverIdleSeconds = 10;

/// Minutes that each of the two turns may take by which an agent is tried.
inline constexpr std::uint64_t kAgentTestMinutes = 2;

/// Tokens that a budget can be. More is refused with Limit: it could not be told from none.
inline constexpr std::uint64_t kBudgetMost = 1'000'000'000'000'000;

/// Options of one call on the bus, and entries of a list or dictionary in them. More is refused with InvalidArgument.
inline constexpr std::size_t kOptionEntries = 64;

/// Bytes of one text in a call's options (a command, a name, an address), but for a plan. More is refused with
/// TooLarge.
inline constexpr std::size_t kOptionTextBytes = 8192;

/// Answers to calls with a request-id that are kept for one user; the user controls them. The oldest is forgotten, and
/// that call, repeated, counts as a new one.
inline constexpr std::uint64_t kAnswersPerUser = 2000;

/// Microseconds for which an answer to a call with a request-id is kept: a day is longer than any caller tries again.
inline constexpr std::uint64_t kAnswerTime = 86'400'000'000;

/// Characters of a request-id. A longer one is refused with InvalidArgument.
inline constexpr std::size_t kRequestIdBytes = 64;

/// Bytes of a path that a caller names. More is refused with TooLarge; the kernel takes no longer one.
inline constexpr std::size_t kCallerPathBytes = 4095;

/// Bytes of a key that a caller hands over by descriptor. More is refused with TooLarge.
inline constexpr std::size_t kKeyBytes = 16 * 1024;

/// Microseconds within which a descriptor from a caller has to be read to its end. Later is InvalidArgument.
inline constexpr std::uint64_t kDescriptorTime = 10'000'000;

/// Descriptors of one user that are read at a time. More is refused with Limit.
inline constexpr std::size_t kDescriptorsPerUser = 8;

/// Entries of one answer of ListTasks or ListEvents: at most, and when the caller says 0.
inline constexpr std::uint32_t kListMost = 1000;
inline constexpr std::uint32_t kListDefault = 100;

/// Bytes of one piece of ReadText: at least (one character), at most, and when the caller says 0. Outside is
/// InvalidArgument.
inline constexpr std::uint32_t kPieceLeast = 4;
inline constexpr std::uint32_t kPieceMost = 1024 * 1024;
inline constexpr std::uint32_t kPieceDefault = 64 * 1024;

/// Connections of one user that are subscribed. More is refused with Limit.
inline constexpr std::size_t kSubscribersPerUser = 64;

/// Connections of all users that are subscribed or wait; each costs a match rule, of which the bus gives us 512. More
/// is refused with Limit.
inline constexpr std::size_t kWatchedConnections = 384;

/// Calls of Wait of one user at a time. More is refused with Limit.
inline constexpr std::size_t kWaitsPerUser = 16;

/// Microseconds that one call of Wait lasts at most; a longer timeout counts as this.
inline constexpr std::uint64_t kWaitTime = 3'600'000'000;

/// Calls of one user that wait for polkit. More is refused with Limit.
inline constexpr std::size_t kAuthorisationsPerUser = 16;

/// Microseconds until polkit has answered, a person's typing included. Later is AccessDenied.
inline constexpr std::uint64_t kAuthorisationTime = 300'000'000;

/// Microseconds for which a connection that was authenticated to see what is others' does so without being asked about
/// again; as long as polkit keeps such an answer. A subscription that was granted lasts.
inline constexpr std::uint64_t kSeeOtherTime = 300'000'000;

/// Refused calls of one user that the journal tells of within so many microseconds. The others are refused silently.
inline constexpr std::uint64_t kDenialLines = 20;
inline constexpr std::uint64_t kDenialTime = 60'000'000;

/// Connections whose user is remembered; the one not seen for longest is asked about again.
inline constexpr std::size_t kKnownConnections = 1024;

/// Bytes of each command's output that the gate keeps, from its end. Its beginning is left out and told.
inline constexpr std::size_t kGateLogBytes = 2 * 1024 * 1024;

/// Bytes of a failed command's output that the writer is told, from its end.
inline constexpr std::size_t kFeedbackLogBytes = 16 * 1024;

/// Microseconds until free space is looked at again while a task waits for it. While none does, nothing wakes up.
inline constexpr std::chrono::microseconds kSpaceCheckTime{15'000'000};

/// Processes and threads of a user's slice beside their boxes, for each task that may run at once: gateway, resolver
/// and workers. An agent that has filled its box leaves them these.
inline constexpr std::uint64_t kOwnProcesses = 128;

/// Microseconds for which an image that was cut off is checked; an agent wrote what is in it. At the limit it counts as
/// broken and is made anew.
inline constexpr std::chrono::microseconds kImageCheckTime{600'000'000};

/// Bytes of memory for that check; at the limit the same.
inline constexpr std::uint64_t kImageCheckMemory = 1024ULL * 1024 * 1024;

/// Questions about users and groups that wait for the machine's name service, which may be a network away. One more is
/// refused with Busy.
inline constexpr std::size_t kAccountQuestions = 256;

/// Tasks that are objects on the bus, at the most; the others are reached by ListTasks.
inline constexpr std::uint32_t kLiveObjects = 4096;

}  // namespace coffer::limits
