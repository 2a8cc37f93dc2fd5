#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace darope {

inline constexpr size_t kHelpWidth = 80;

// Lines that are longer go on below, under the description that they begin with.
std::string wrapped(const std::string& text, size_t width = kHelpWidth);

// Help for terminals of 80 columns; of an option, only what is to be typed.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace darope
