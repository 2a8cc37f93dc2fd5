#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

std::string number_text(double value);  // as a message shows it: 500000, 0.9999999, nan

// The options of an encoding as a user writes them, "name:option=value,option=value". Reading an option makes
// it known; finish() then refuses what nobody read, with the nearest name.
class Options {
 public:
  // Splits "hope:base=10000,slow_bands=4"; the name comes back in `name`.
  static Options parse(std::string_view text, std::string& name);

  void set(const std::string& option, const std::string& value);  // twice with two values is an error
  double number(const std::string& option, double otherwise);
  std::optional<int64_t> integer(const std::string& option);
  std::string choice(const std::string& option,
                     const std::vector<std::string>& allowed);  // the first is the default
  void finish(std::string_view encoding) const;

  struct Known {
    std::string name, values;  // the default or, of a choice, all of them: "4", "code|paper", or nothing
  };
  const std::vector<Known>& known() const { return known_; }
  std::map<std::string, std::string> read() const;  // values of what was read, given or not, in one notation

 private:
  const std::string* find(const std::string& option, const std::string& values);

  std::map<std::string, std::string> given_;
  std::vector<Known> known_;
};

}  // namespace darope
