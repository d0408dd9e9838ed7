#include "analyzer/importers/chrome/lanes.h"

#include <map>
#include <set>

#include "analyzer/importers/chrome/decimal.h"
#include "analyzer/importers/chrome/json_text.h"

namespace stallscope::importers::chrome {

uint32_t Lanes::ProcessOf(std::string_view pid) {
  uint32_t& number = process_numbers_.At(CutName(pid), 0);
  if (number == TextTable::kNew) {
    number = static_cast<uint32_t>(processes_.size());
    processes_.push_back({Unescaped(CutName(pid)), "", ""});
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
    trace::TrackInfo info;
    info.kind = trace::TrackKind::kDetail;
    info.thread = WholeNumber(lane.thread).value_or(0);
    lane.detail = builder_.Track(std::move(info));
  }
  return lane.detail;
}

TrackId Lanes::Accounted(uint32_t number) {
  Lane& lane = lanes_[number];
  if (!lane.accounted.known()) {
    trace::TrackInfo info;
    info.kind = trace::TrackKind::kThread;
    info.thread = WholeNumber(lane.thread).value_or(0);
    lane.accounted = builder_.Track(std::move(info));
  }
  return lane.accounted;
}

std::string Lanes::NameOf(const Lane& lane) const {
  if (!lane.name.empty()) return lane.name;
  const Process& process = processes_[lane.process];
  const std::string owner = process.name.empty() ? process.id : process.name;
  if (lane.thread.empty()) return owner.empty() ? "events" : owner;
  return owner.empty() ? "thread " + lane.thread : owner + " " + lane.thread;
}

void Lanes::NameTracks() {
  // Every process of a pool calls a thread MainThread; one process may well have ten of one name.
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
    if (lane.accounted.known()) builder_.InfoOf(lane.accounted).name = name;
    if (!lane.detail.known()) continue;
    builder_.InfoOf(lane.detail).name = lane.accounted.known() ? name + ", in detail" : name;
  }
}

}  // namespace stallscope::importers::chrome
