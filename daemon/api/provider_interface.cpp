#include "api/provider_interface.hpp"

#include <cstring>

#include <fcntl.h>

#include "api/arguments.hpp"
#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::api {
namespace {

/// The key without its line end. Characters that could end a header line are refused here, before anything is stored.
std::expected<std::string, Error> keyOf(std::string bytes) {
  if (bytes.ends_with('\n')) bytes.pop_back();
  if (bytes.ends_with('\r')) bytes.pop_back();
  for (const char c : bytes)
    if (c <= ' ' || c > '~')
      return std::unexpected(
          Error{ErrorCode::InvalidArgument, "a key has printable ASCII characters only, without spaces, on one line"});
  if (bytes.empty()) return std::unexpected(Error{ErrorCode::InvalidArgument, "there is no key in the descriptor"});
  return bytes;
}

}  // namespace

ProviderInterface::ProviderInterface(Backend& backend, Descriptors& descriptors)
    : ViewInterface(names::kProvider, Object::Kind::Provider), backend_(backend), descriptors_(descriptors) {
  property("Name", &ProviderView::name);
  property("Owner", &ProviderView::owner);
  property("Machine", &ProviderView::machine);
  property("Kind", &ProviderView::kind);
  property("BaseUrl", &ProviderView::baseUrl);
  property("Spenders", &ProviderView::spenders);
  property("HasKey", &ProviderView::hasKey);
  property("KeyHint", &ProviderView::keyHint);
  property("Problem", &ProviderView::problem);

  methods_.push_back({"SetKey", "ha{sv}", "", [this](const CallPointer& call) { setKey(call); }});
  methods_.push_back({"Set", "a{sv}", "", [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          const ProviderSettings settings{.baseUrl = takeText(options, "base-url"),
                                                          .spenders = takeList(options, "spenders")};
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.setProvider(request, call->object().id, settings, answering(call));
                        });
                      }});
  methods_.push_back({"Remove",
                      "a{sv}",
                      "",
                      [this](const CallPointer& call) {
                        withArguments<Dictionary>(call, [&](Dictionary values) {
                          Options options(std::move(values));
                          const auto request = requestOf(*call, options);
                          if (const auto good = options.finish(); !good) return call->fail(good.error());
                          backend_.removeProvider(request, call->object().id, answering(call));
                        });
                      },
                      {},
                      true});
}

void ProviderInterface::setKey(const CallPointer& call) {
  withArguments<int, Dictionary>(call, [&](int number, Dictionary values) {
    Options options(std::move(values));
    const auto request = requestOf(*call, options);
    if (const auto good = options.finish(); !good) return call->fail(good.error());
    // The message owns its descriptor and may end before the last byte comes.
    Fd fd(::fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (!fd) return call->fail({ErrorCode::Limit, "no descriptor is free; try again later"});
    descriptors_.read(call->caller.uid, std::move(fd), limits::kKeyBytes,
                      [this, call, request](Descriptors::Outcome bytes) {
                        if (!bytes) return call->fail(bytes.error());
                        auto key = keyOf(std::move(*bytes));
                        if (!key) return call->fail(key.error());
                        backend_.setKey(request, call->object().id, std::move(*key), answering(call));
                      });
  });
}

std::expected<ProviderView, Error> ProviderInterface::read(const Caller& caller, const Object& object) const {
  auto view = backend_.provider(object.id);
  // Everyone may see that the machine has a provider, but nothing of its key.
  if (view && view->machine && caller.uid != 0) view->keyHint.clear();
  return view;
}

}  // namespace coffer::api
