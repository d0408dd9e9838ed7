// Takes a document's events and makes a run of them. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_COLLECTOR_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/async_spans.h"
#include "analyzer/importers/chrome/device_rows.h"
#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/head.h"
#include "analyzer/importers/chrome/kind.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/chrome/tensorflow_host.h"
#include "analyzer/importers/chrome/tensorflow_lanes.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/foreign/running_totals.h"

namespace stallscope::importers::chrome {

class Collector final : public DocumentVisitor {
 public:
  // `source`, whose allowance what it keeps is charged to, must outlive it.
  explicit Collector(ByteSource& source);

  void OnEvent(const Event& event) override;
  bool Wants(std::string_view key) const override { return Head::Wants(key); }
  void OnMember(std::string_view key, std::string_view value) override;
  void OnDamage(uint64_t offset, uint64_t bytes, const std::string& reason, bool cut) override;

  uint64_t events() const { return events_; }
  // The run. The collector is spent.
  model::Run Finish();

 private:
  // What is known of all events of one name and kind.
  enum class Special : uint8_t { kNone, kStep, kLoader, kCompile };
  struct Named {
    uint16_t span_class = 0;
    Special special = Special::kNone;
  };

  void OnComplete(const Event& event);
  void OnTensorFlow(const Event& event, uint32_t lane, LaneMeaning meaning, int64_t start_ns,
                    int64_t end_ns);
  void OnSpecial(const Event& event, Special special, uint32_t lane, int64_t start_ns,
                 int64_t end_ns);
  void OnBegin(const Event& event);
  void OnEnd(const Event& event);
  void OnCounter(const Event& event);
  void OnMetadata(const Event& event);

  Kind KindOfEvent(const Event& event);
  Named NamedOf(std::string_view name, Kind kind);
  LaneMeaning MeaningOfLane(uint32_t lane);
  std::optional<int64_t> TimeOf(std::string_view text);
  void CloseOpenSpans();
  void DescribeRun();
  void DescribeDevice();
  void SayLimits();

  RunBuilder builder_;
  Head head_;
  Lanes lanes_;
  DeviceRows device_;
  AsyncSpans async_;
  TensorFlowHost tensorflow_;
  std::vector<Occurrence> compilations_;  // of torch.compile
  std::vector<StepMark> marks_;
  std::vector<StepMark> derived_marks_;  // of TensorFlow's line "Steps"

  TextTable kinds_;
  TextTable names_;
  std::vector<Named> named_;  // by the value in names_
  TextTable counters_;
  std::vector<std::optional<LaneMeaning>> meanings_;  // by lane
  uint64_t events_ = 0;
  bool numbered_streams_ = false;
  bool saw_pytorch_ = false;
  bool saw_tensorflow_ = false;
  bool saw_loader_ = false;
  bool loader_in_processes_ = false;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_COLLECTOR_H_
