#include "report/microscope.h"

#include "assets.h"
#include "report/script.h"

namespace darope::report {

std::string microscope_page(const nlohmann::ordered_json& data) {
  std::string html =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width, initial-scale=1'><meta http-equiv='Content-Security-Policy' "
      "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">"
      "<meta name='color-scheme' content='light dark'><link rel='icon' href='data:,'>"
      "<title>Position microscope</title>\n<style>";
  html += assets::page_css;
  html += assets::microscope_css;
  html += "</style></head>\n<body>";
  html += assets::microscope_html;
  html += "<script type='application/json' id='data'>" + script_safe(data) + "</script>\n<script>";
  html += assets::microscope_js;
  return html + "</script>\n</body></html>\n";
}

}  // namespace darope::report
