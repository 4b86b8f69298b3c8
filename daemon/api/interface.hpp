#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.hpp"
#include "api/writer.hpp"
#include "dbus/error.hpp"

namespace coffer::api {

struct Method {
  std::string name;
  std::string in;
  std::string out;
  /// Runs once the caller is admitted; answers the call now or later.
  std::function<void(const CallPointer&)> run;
  /// Whether arguments make it concern what is not the caller's own (an object of another is found out without it).
  std::function<bool(const Call&)> concernsOthers = {};
  /// Whether its object is gone afterwards. The same call again still reaches the backend, which has the first answer.
  bool takesAway = false;
};

/// One interface as code: what it is made of and how it is answered. Its description for introspection is the XML file.
class Interface {
 public:
  Interface(std::string_view name, Object::Kind kind) : name_(name), kind_(kind) {}
  virtual ~Interface() = default;
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The kind of object that has it.
  [[nodiscard]] Object::Kind kind() const { return kind_; }
  [[nodiscard]] const std::vector<Method>& methods() const { return methods_; }
  [[nodiscard]] const Method* method(std::string_view name) const {
    for (const auto& method : methods_)
      if (method.name == name) return &method;
    return nullptr;
  }

  struct PropertyInfo {
    std::string name;
    std::string type;
    bool writable = false;
  };
  [[nodiscard]] virtual std::vector<PropertyInfo> properties() const = 0;
  /// Appends all properties, as an a{sv}.
  virtual std::expected<void, Error> writeAll(const Caller& caller, const Object& object, Writer& writer) const = 0;
  /// Appends one, as a variant. The property exists.
  virtual std::expected<void, Error> writeOne(const Caller& caller, const Object& object, std::string_view property,
                                              Writer& writer) const = 0;
  /// Sets a writable property; only those of text exist.
  virtual std::expected<void, Error> set(std::string_view /*property*/, const std::string& /*value*/) {
    return std::unexpected(Error{ErrorCode::InvalidArgument, "the property cannot be set"});
  }

 protected:
  std::vector<Method> methods_;

 private:
  std::string name_;
  Object::Kind kind_;
};

/// An interface whose properties come from one plain value that is read at once.
template <class View>
class ViewInterface : public Interface {
 public:
  using Interface::Interface;

  [[nodiscard]] std::vector<PropertyInfo> properties() const override {
    std::vector<PropertyInfo> infos;
    for (const auto& property : properties_)
      infos.push_back({property.name, property.type, property.writable});
    return infos;
  }
  std::expected<void, Error> writeAll(const Caller& caller, const Object& object, Writer& writer) const override {
    const auto view = read(caller, object);
    if (!view) return std::unexpected(view.error());
    writer.inside('a', "{sv}", [&] {
      for (const auto& property : properties_)
        writer.inside('e', "sv", [&] {
          writer.append(property.name);
          writer.inside('v', property.type, [&] { property.write(*view, writer); });
        });
    });
    return {};
  }
  std::expected<void, Error> writeOne(const Caller& caller, const Object& object, std::string_view name,
                                      Writer& writer) const override {
    const auto view = read(caller, object);
    if (!view) return std::unexpected(view.error());
    for (const auto& property : properties_)
      if (property.name == name) writer.inside('v', property.type, [&] { property.write(*view, writer); });
    return {};
  }

 protected:
  struct Property {
    std::string name;
    std::string type;
    std::function<void(const View&, Writer&)> write;
    bool writable = false;
  };
  /// A property that a function of the view gives.
  template <class Get>
  void property(std::string_view name, Get get) {
    using Type = std::remove_cvref_t<std::invoke_result_t<Get, const View&>>;
    properties_.push_back({std::string(name), signatureOf<Type>(),
                           [get](const View& view, Writer& writer) { writer.append(std::invoke(get, view)); }});
  }
  virtual std::expected<View, Error> read(const Caller& caller, const Object& object) const = 0;

  std::vector<Property> properties_;
};

}  // namespace coffer::api
