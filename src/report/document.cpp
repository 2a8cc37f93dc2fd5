#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/sha256.h"

namespace darope::report {
namespace {

std::string base64(const Sha256::Digest& digest) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < digest.size(); i += 3) {
    const size_t bytes = std::min<size_t>(3, digest.size() - i);
    uint32_t group = 0;
    for (size_t at = 0; at < 3; ++at) group = group << 8 | (at < bytes ? digest[i + at] : 0u);
    for (size_t at = 0; at < 4; ++at) out += at <= bytes ? kDigits[group >> (18 - 6 * at) & 63] : '=';
  }
  return out;
}

// JSON inside a script element: nothing in it may end the element or open a comment.
std::string script_safe(const nlohmann::ordered_json& json) {
  std::string safe;
  for (const char c : json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace))
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  return safe;
}

std::string hashes(const std::vector<std::string_view>& scripts) {
  std::string all;
  for (const std::string_view script : scripts) {
    Sha256 hash;
    hash.add(std::as_bytes(std::span(script)));
    all += fmt::format(" 'sha256-{}'", base64(hash.digest()));
  }
  return all;
}

}  // namespace

std::string to_html(const Document& document) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width, initial-scale=1'>"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src{}; "
      "style-src 'unsafe-inline'; img-src data:\">"
      "<meta name='color-scheme' content='light dark'><link rel='icon' href='data:,'><title>{}</title>\n"
      "<style>",
      hashes(document.scripts), document.title);
  for (const std::string_view style : document.styles) html += style;
  html += "</style></head>\n<body>" + document.body + "<script type='application/json' id='data'>" +
          script_safe(document.data) + "</script>";
  for (const std::string_view script : document.scripts) {
    html += "\n<script>";
    html += script;
    html += "</script>";
  }
  return html + "\n</body></html>\n";
}

}  // namespace darope::report
