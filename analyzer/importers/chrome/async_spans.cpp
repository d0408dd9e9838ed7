#include "analyzer/importers/chrome/async_spans.h"

#include <algorithm>

#include "analyzer/importers/chrome/json_text.h"

namespace stallscope::importers::chrome {
namespace {

constexpr size_t kMostOpen = 1'000'000;

std::string KeyOf(const Event& event) {
  std::string key(CutName(event.category));
  key += '\n';
  key += CutName(event.id);
  key += '\n';
  key += CutName(event.process);
  return key;
}

}  // namespace

TrackId AsyncSpans::TrackOf(const Event& event) {
  const uint32_t process = lanes_.ProcessOf(event.process);
  std::string key = std::to_string(process) + "\n" + std::string(CutName(event.category));
  const auto [place, fresh] = tracks_.try_emplace(std::move(key));
  if (fresh) {
    builder_.allowance().ChargeText(place->first.size());
    trace::TrackInfo info;
    info.kind = trace::TrackKind::kDetail;
    info.name = "asynchronous " + Unescaped(CutName(event.category));
    place->second = builder_.Track(std::move(info));
  }
  return place->second;
}

void AsyncSpans::Begin(const Event& event, uint16_t span_class, int64_t time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  if (count_ >= kMostOpen) {
    builder_.LeaveOut("asynchronous events were left out: too many are open at a time");
    return;
  }
  const auto [place, fresh] = open_.try_emplace(KeyOf(event));
  if (fresh) builder_.allowance().ChargeText(place->first.size());
  builder_.allowance().Charge(sizeof(Open));
  place->second.push_back({TrackOf(event), span_class, time_ns});
  ++count_;
}

void AsyncSpans::End(const Event& event, int64_t time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  const auto found = open_.find(KeyOf(event));
  if (found == open_.end()) {
    builder_.Count("asynchronous events end without having begun: left out");
    return;
  }
  const Open open = found->second.back();
  found->second.pop_back();
  --count_;
  builder_.allowance().GiveBack(sizeof(Open));
  if (found->second.empty()) {
    builder_.allowance().GiveBack(Allowance::kEntryBytes + found->first.size());
    open_.erase(found);
  }
  builder_.AddSpan(open.track, open.span_class, open.start_ns, time_ns);
}

void AsyncSpans::Close() {
  for (const auto& [key, spans] : open_) {
    for (const Open& open : spans) {
      builder_.AddSpan(open.track, open.span_class, open.start_ns, last_ns_);
      builder_.Count("asynchronous events never end: taken to last as long as the file");
    }
  }
  open_.clear();
}

}  // namespace stallscope::importers::chrome
