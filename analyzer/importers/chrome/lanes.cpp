#include "analyzer/importers/chrome/lanes.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/importers/chrome/json.h"

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

uint32_t Lanes::ProcessOf(std::string_view pid) {
  uint32_t& number = process_numbers_.At(CutName(pid), 0);
  if (number == TextTable::kNew) {
    number = static_cast<uint32_t>(processes_.size());
    processes_.push_back({Unescaped(CutName(pid)), ""});
    builder_.allowance().ChargeText(sizeof(Process) + processes_.back().id.size());
  }
  return number;
}

uint32_t Lanes::Of(std::string_view pid, std::string_view tid) {
  key_.assign(CutName(pid));
  key_ += '\n';
  key_ += CutName(tid);
  uint32_t& number = lane_numbers_.At(key_, 0);
  if (number == TextTable::kNew) {
    number = static_cast<uint32_t>(lanes_.size());
    Lane& lane = lanes_.emplace_back();
    lane.process = ProcessOf(pid);
    lane.thread = Unescaped(CutName(tid));
    builder_.allowance().ChargeText(sizeof(Lane) + lane.thread.size());
  }
  return number;
}

TrackId Lanes::Detail(uint32_t number) {
  Lane& lane = lanes_[number];
  if (!lane.detail.known()) {
    lane.detail = builder_.DetailTrack("", WholeNumber(lane.thread).value_or(0));
  }
  return lane.detail;
}

TrackId Lanes::Accounted(uint32_t number) {
  Lane& lane = lanes_[number];
  if (!lane.accounted.known()) {
    lane.accounted = builder_.ThreadTrack("", WholeNumber(lane.thread).value_or(0));
  }
  return lane.accounted;
}

void Lanes::Begin(uint32_t number, std::string_view name, uint16_t span_class, int64_t time_ns) {
  constexpr size_t kMostNested = 100'000;
  Lane& lane = lanes_[number];
  lane.last_ns = std::max(lane.last_ns, time_ns);
  if (lane.open.size() >= kMostNested) {
    builder_.LeaveOut("{event is|events are} nested more than 100,000 deep: left out");
    return;
  }
  lane.open.push_back({std::string(CutName(name)), span_class, time_ns});
  builder_.allowance().ChargeText(lane.open.back().name.size());
}

void Lanes::End(uint32_t number, std::string_view name, int64_t time_ns) {
  const TrackId track = Detail(number);
  Lane& lane = lanes_[number];
  lane.last_ns = std::max(lane.last_ns, time_ns);
  if (lane.open.empty()) {
    builder_.Count("{event ends|events end} without having begun: left out");
    return;
  }
  size_t at = lane.open.size() - 1;
  name = CutName(name);
  if (!name.empty() && lane.open[at].name != name) {
    size_t same = lane.open.size();
    constexpr size_t kLookBack = 64;
    for (size_t i = same; i-- > 0 && same - i <= kLookBack;) {
      if (lane.open[i].name != name) continue;
      at = i;
      break;
    }
    builder_.Count(
        "{event ends|events end} under another event's name: those inside end there, too");
  }
  while (lane.open.size() > at) {
    const OpenSpan& open = lane.open.back();
    builder_.AddSpan(track, open.span_class, open.start_ns, time_ns);
    builder_.allowance().GiveBack(Allowance::kEntryBytes + open.name.size());
    lane.open.pop_back();
  }
}

void Lanes::Close() {
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    while (!lanes_[i].open.empty()) {
      const OpenSpan open = lanes_[i].open.back();
      lanes_[i].open.pop_back();
      builder_.AddSpan(Detail(i), open.span_class, open.start_ns, lanes_[i].last_ns);
      builder_.Count("{event never ends|events never end}: assumed to last as long as the thread");
    }
  }
}

std::string Lanes::NameOf(const Lane& lane) const {
  const size_t last = lane.name.find_last_not_of(' ');  // Kineto's "stream 7 "
  if (last != std::string::npos) return lane.name.substr(0, last + 1);
  const Process& process = processes_[lane.process];
  const std::string owner = process.name.empty() ? process.id : process.name;
  if (lane.thread.empty()) return owner.empty() ? "events" : owner;
  return owner.empty() ? "thread " + lane.thread : owner + " " + lane.thread;
}

void Lanes::NameTracks() {
  // Every process of a pool has a MainThread; a single process may well have ten threads of one
  // name.
  std::map<std::string, std::set<uint32_t>> processes_of;
  for (const Lane& lane : lanes_) {
    if (lane.accounted.known() || lane.detail.known()) {
      processes_of[NameOf(lane)].insert(lane.process);
    }
  }
  for (const Lane& lane : lanes_) {
    std::string name = NameOf(lane);
    if (processes_of[name].size() > 1) {
      const Process& process = processes_[lane.process];
      name = (process.name.empty() ? process.id : process.name) + ": " + name;
    }
    if (!lane.shows.empty()) name += ", " + std::string(lane.shows);
    if (lane.accounted.known()) builder_.Rename(lane.accounted, name);
    if (!lane.detail.known()) continue;
    builder_.Rename(lane.detail, lane.accounted.known() ? name + ", in detail" : name);
  }
}

TrackId AsyncSpans::TrackOf(const Event& event) {
  const uint32_t process = lanes_.ProcessOf(event.process);
  std::string key = std::to_string(process) + "\n" + std::string(CutName(event.category));
  const auto [place, fresh] = tracks_.try_emplace(std::move(key));
  if (fresh) {
    builder_.allowance().ChargeText(place->first.size());
    place->second = builder_.DetailTrack("asynchronous " + Unescaped(CutName(event.category)));
  }
  return place->second;
}

void AsyncSpans::Begin(const Event& event, uint16_t span_class, int64_t time_ns) {
  last_ns_ = std::max(last_ns_, time_ns);
  if (count_ >= kMostOpen) {
    builder_.LeaveOut("asynchronous {event was|events were} left out: too many are open at once");
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
    builder_.Count("asynchronous {event ends|events end} without having begun: left out");
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
      builder_.Count(
          "asynchronous {event never ends|events never end}: assumed to last as long as the file");
    }
  }
  open_.clear();
}

}  // namespace stallscope::importers::chrome
