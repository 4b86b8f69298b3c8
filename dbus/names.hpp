#pragma once

#include <array>
#include <string_view>

/// Every name by which others know us: bus, paths, interfaces, polkit actions, journal fields and message ids. A name
/// is never changed and never used for something else; what clients, catalog, policy files and tests use is here.
/// Errors: error.hpp.
namespace coffer::names {

inline constexpr std::string_view kBus = "org.cofferdam.Cofferdam1";

// Paths. An object is its prefix, a slash, and its id; an agent's is its name as sd_bus_path_encode() writes it.
inline constexpr std::string_view kRootPath = "/org/cofferdam/Cofferdam1";
inline constexpr std::string_view kTaskPath = "/org/cofferdam/Cofferdam1/task";
inline constexpr std::string_view kProjectPath = "/org/cofferdam/Cofferdam1/project";
inline constexpr std::string_view kAgentPath = "/org/cofferdam/Cofferdam1/agent";
inline constexpr std::string_view kProviderPath = "/org/cofferdam/Cofferdam1/provider";
/// Where systemctl service-log-level looks for org.freedesktop.LogControl1.
inline constexpr std::string_view kLogControlPath = "/org/freedesktop/LogControl1";

inline constexpr std::string_view kManager = "org.cofferdam.Cofferdam1.Manager";
inline constexpr std::string_view kProject = "org.cofferdam.Cofferdam1.Project";
inline constexpr std::string_view kTask = "org.cofferdam.Cofferdam1.Task";
inline constexpr std::string_view kAgent = "org.cofferdam.Cofferdam1.Agent";
inline constexpr std::string_view kProvider = "org.cofferdam.Cofferdam1.Provider";
inline constexpr std::string_view kLogControl = "org.freedesktop.LogControl1";
inline constexpr std::string_view kPeer = "org.freedesktop.DBus.Peer";
inline constexpr std::string_view kIntrospectable = "org.freedesktop.DBus.Introspectable";
inline constexpr std::string_view kProperties = "org.freedesktop.DBus.Properties";
inline constexpr std::string_view kObjectManager = "org.freedesktop.DBus.ObjectManager";

/// Value of Manager.ApiVersion; one more with every addition to an interface.
inline constexpr unsigned kApiVersion = 1;

/// The option of every changing call that makes it safe to repeat.
inline constexpr std::string_view kRequestId = "request-id";

// Annotations in the interface files: which polkit action a member needs on one's own, and on what is another's.
inline constexpr std::string_view kAccessOwn = "org.cofferdam.Access.Own";
inline constexpr std::string_view kAccessOther = "org.cofferdam.Access.Other";

// polkit actions.
inline constexpr std::string_view kActionCreate = "org.cofferdam.Cofferdam1.create";
inline constexpr std::string_view kActionDecideOwn = "org.cofferdam.Cofferdam1.decide-own";
inline constexpr std::string_view kActionLand = "org.cofferdam.Cofferdam1.land";
inline constexpr std::string_view kActionSeeOther = "org.cofferdam.Cofferdam1.see-other";
inline constexpr std::string_view kActionDecideOther = "org.cofferdam.Cofferdam1.decide-other";
inline constexpr std::string_view kActionConfigure = "org.cofferdam.Cofferdam1.configure";
inline constexpr std::string_view kActionConfigureSystem = "org.cofferdam.Cofferdam1.configure-system";
inline constexpr std::string_view kActionOpenNetwork = "org.cofferdam.Cofferdam1.open-network";
inline constexpr std::string_view kActionProviderKey = "org.cofferdam.Cofferdam1.provider-key";
inline constexpr std::array kActions = {kActionCreate,          kActionDecideOwn,   kActionLand,
                                        kActionSeeOther,        kActionDecideOther, kActionConfigure,
                                        kActionConfigureSystem, kActionOpenNetwork, kActionProviderKey};

/// Members of this group work on their own tasks without a prompt, wherever they are logged in.
inline constexpr std::string_view kGroup = "cofferdam";

// Journal fields, for journalctl FIELD=VALUE.
inline constexpr std::string_view kFieldTask = "COFFER_TASK";        ///< a task's number
inline constexpr std::string_view kFieldProject = "COFFER_PROJECT";  ///< a project's number
inline constexpr std::string_view kFieldOwner = "COFFER_OWNER";      ///< the uid it belongs to
inline constexpr std::string_view kFieldRun = "COFFER_RUN";          ///< a run's number
inline constexpr std::string_view kFieldRole = "COFFER_ROLE";        ///< planner, writer, reviewer, gate, ...
inline constexpr std::string_view kFieldAgent = "COFFER_AGENT";      ///< a descriptor's name
inline constexpr std::string_view kFieldState = "COFFER_STATE";      ///< a task's state
inline constexpr std::string_view kFieldUnit = "COFFER_UNIT";        ///< the unit it is about
inline constexpr std::string_view kFieldCaller = "COFFER_CALLER";    ///< the uid that asked
inline constexpr std::string_view kFieldMember = "COFFER_MEMBER";    ///< INTERFACE.MEMBER of a call
inline constexpr std::string_view kFieldAction = "COFFER_ACTION";    ///< a polkit action
inline constexpr std::string_view kFieldCommit = "COFFER_COMMIT";    ///< a commit's id
inline constexpr std::string_view kFieldFile = "COFFER_FILE";        ///< a configuration file

// MESSAGE_IDs; each has an entry in units/cofferdam.catalog.
inline constexpr std::string_view kMessageStarted = "d2b73ed1f60b4447823e027202755b53";      ///< the service is ready
inline constexpr std::string_view kMessageTaskCreated = "d5e41ce012d0449e938b40c40e0d5114";  ///< a task was made
inline constexpr std::string_view kMessageTaskWaits =
    "a5f1c1af73bf421e82a01da99f10fce3";  ///< a task waits for a person
inline constexpr std::string_view kMessageTaskDecided = "f869bb69c32245eb970c86a1fb877975";  ///< a person decided
inline constexpr std::string_view kMessageTaskLanded =
    "3d2af16693324991a58de4c67850e539";  ///< work is in its owner's repository
inline constexpr std::string_view kMessageTaskEnded =
    "efd262b750244334a15f731a56838a11";  ///< a task failed or was cancelled
inline constexpr std::string_view kMessageRunEnded =
    "b4a5415a45fa4909a0caf2bb2d869b2e";  ///< a turn, gate or review ended
inline constexpr std::string_view kMessageRefusal =
    "24d2595ea2f941d286780b8b1ee7d3cf";  ///< a sandbox tried what it may not
inline constexpr std::string_view kMessageDenied = "32224edc0ed540418fad998a0a6dc35c";  ///< a caller was not authorised
inline constexpr std::string_view kMessageConfiguration =
    "05f3e5829d8e4a5d822744572d05babe";  ///< a configuration file is wrong
inline constexpr std::string_view kMessageSystem =
    "b1d8a099f25147c3bb285a404b0e26a2";  ///< this machine lacks something
inline constexpr std::string_view kMessageWallsGone =
    "c5ebbf120be74c4391c17398beb6bbb2";  ///< coffer-walls does not answer

}  // namespace coffer::names
