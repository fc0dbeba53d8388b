// One page that holds all of it: opens from a file, asks nothing of a network. page/ has its parts.
#include <fmt/format.h>

#include <utility>

#include "reports/format.hpp"
#include "reports/page/page.hpp"

namespace attest {
namespace {

// What stands for {{name}} in the template. What is put in is not looked at again: a token may hold
// braces.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& parts) {
  std::string page;
  while (!text.empty()) {
    const std::size_t at = text.find("{{");
    page += text.substr(0, at);
    if (at == std::string_view::npos) break;
    const std::size_t end = text.find("}}", at);
    const std::string_view name = text.substr(at + 2, end - at - 2);
    for (const auto& [known, value] : parts) {
      if (known == name) page += value;
    }
    text.remove_prefix(end + 2);
  }
  return page;
}

}  // namespace

std::string render_html(const Results& results, const Trend& trend) {
  const RunHeader& header = results.header();
  return filled(page::kTemplate,
                {{"title", page::escaped(page::headline(results))},
                 {"run", page::shown(fmt::format("{} · {}", header.device, header.started))},
                 {"style", std::string(page::kStyle)},
                 {"verdict", page::verdict_html(results)},
                 {"buckets", page::buckets_html(results)},
                 {"data", page::data_json(results, trend)},
                 {"chart", std::string(page::kChartLibrary)},
                 {"script", std::string(page::kScript)}});
}

}  // namespace attest
