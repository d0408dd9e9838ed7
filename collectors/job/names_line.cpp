#include "collectors/job/names_line.h"

#include <algorithm>
#include <string_view>

#include "analyzer/trace/limits.h"
#include "collectors/job/mask.h"

namespace stallscope::job {
namespace {

// Lines after a call; if it has fewer, it is at the end of its file.
constexpr uint32_t kFewestBehind = 3;

// The lines around the call, cut where a line may have a secret: a masked line is useless to the
// report. None if the call itself may have one.
void TakeSource(std::string_view text, uint32_t from, trace::CallSite& call, uint32_t line) {
  const uint32_t first = call.line != 0 ? call.line : line;
  const uint32_t last = std::max(first, call.end_line);
  call.source_line = from;
  for (uint32_t at = from; !text.empty(); ++at) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!MayHoldSecret(std::string(text.substr(0, end)))) {
      call.source += text.substr(0, end);
    } else if (at < first) {
      call.source.clear();
      call.source_line = at + 1;
    } else {
      if (at <= last + kFewestBehind) call.source.clear();
      break;
    }
    text.remove_prefix(end);
  }
  if (call.source.empty() || call.source.size() > trace::kMaxNameBytes) {
    call.source.clear();
    call.source_line = 0;
  }
}

}  // namespace

const NamesLine::Json* NamesLine::Member(const char* key) const {
  const auto found = json_.is_object() ? json_.find(key) : json_.end();
  return !json_.is_object() || found == json_.end() ? nullptr : &*found;
}

const NamesLine::Json* NamesLine::List(const char* key) const {
  const Json* const member = Member(key);
  return member != nullptr && member->is_array() ? member : nullptr;
}

std::optional<uint64_t> NamesLine::Number(const char* key) const {
  const Json* const member = Member(key);
  if (member == nullptr || !member->is_number_unsigned()) return std::nullopt;
  return member->get<uint64_t>();
}

uint32_t NamesLine::Number32(const char* key) const {
  return static_cast<uint32_t>(std::min<uint64_t>(Number(key).value_or(0), 0xffffffff));
}

bool NamesLine::Flag(const char* key) const {
  const Json* const member = Member(key);
  return member != nullptr && member->is_boolean() && member->get<bool>();
}

std::string NamesLine::Text(const char* key) const {
  const Json* const member = Member(key);
  if (member == nullptr || !member->is_string()) return "";
  return member->get_ref<const std::string&>().substr(0, trace::kMaxNameBytes);
}

std::vector<std::string> NamesLine::Texts(const char* key, size_t most) const {
  std::vector<std::string> texts;
  const Json* const list = List(key);
  if (list == nullptr) return texts;
  for (const Json& each : *list) {
    if (each.is_string() && texts.size() < most) texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::optional<std::pair<int64_t, int64_t>> NamesLine::Window() const {
  const auto from = Number("from");
  const auto to = Number("to");
  constexpr auto kLatest = static_cast<uint64_t>(trace::kMaxTimeNs);
  if (!from || !to || *from >= *to || *to > kLatest) return std::nullopt;
  return std::pair(static_cast<int64_t>(*from), static_cast<int64_t>(*to));
}

trace::CallSite NamesLine::Call(uint32_t line) const {
  trace::CallSite call;
  call.line = Number32("line");
  call.column = Number32("column");
  call.end_line = Number32("end_line");
  call.end_column = Number32("end_column");
  call.names = Texts("names");
  call.parameters = Texts("parameters");
  call.keywords = Texts("keywords");
  call.any_keyword = Flag("any_keyword");
  const Json* const source = Member("source");
  if (source != nullptr && source->is_string()) {
    TakeSource(source->get_ref<const std::string&>(), Number32("source_line"), call, line);
  }
  return call;
}

std::optional<trace::CodeLines> NamesLine::Code() const {
  trace::CodeLines code{Text("file"), Number32("first"), {}};
  const Json* const lines = List("lines");
  if (code.file.empty() || lines == nullptr) return std::nullopt;
  for (const Json& each : *lines) {
    if (!each.is_array() || each.size() != 3) return std::nullopt;
    if (!std::all_of(each.begin(), each.end(),
                     [](const Json& n) { return n.is_number_unsigned(); })) {
      return std::nullopt;
    }
    const auto number = each[0].get<uint64_t>();
    if (number == 0 || number > UINT32_MAX) return std::nullopt;
    code.lines.push_back(
        {static_cast<uint32_t>(number), each[1].get<uint64_t>(), each[2].get<uint64_t>()});
  }
  return code;
}

}  // namespace stallscope::job
