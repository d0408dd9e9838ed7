#include "analyzer/importers/xplane/stat.h"

namespace stallscope::importers::xplane {
namespace {

struct RoleName {
  std::string_view name;
  StatRole role;
};
constexpr std::array kRoleNames = {
    RoleName{"step_num", StatRole::kStepNum},
    RoleName{"group_id", StatRole::kGroupId},
    RoleName{"correlation_id", StatRole::kCorrelation},
    RoleName{"memcpy_details", StatRole::kMemcpyDetails},
    RoleName{"id", StatRole::kId},
    RoleName{"parent_id", StatRole::kParentId},
    RoleName{"_p", StatRole::kProducer},
    RoleName{"_pt", StatRole::kProducerType},
    RoleName{"_c", StatRole::kConsumer},
    RoleName{"_ct", StatRole::kConsumerType},
    RoleName{"parallelism", StatRole::kParallelism},
    RoleName{"deterministic", StatRole::kDeterministic},
    RoleName{"buffer_limit", StatRole::kBufferLimit},
    RoleName{"batch_size", StatRole::kBatchSize},
    RoleName{"shapes", StatRole::kShapes},
    RoleName{"tf_function_call", StatRole::kFunctionCall},
    RoleName{"eager_op", StatRole::kEagerOp},
    RoleName{"is_func", StatRole::kIsFunction},
    RoleName{"hlo_op", StatRole::kHloOp},
    RoleName{"cuda_graph_id", StatRole::kGraph},
    RoleName{"gpu_device_name", StatRole::kDeviceName},
    RoleName{"device_vendor", StatRole::kDeviceVendor},
    RoleName{"memory_size", StatRole::kMemorySize},
    RoleName{"profile_start_time", StatRole::kProfileStart},
};

}  // namespace

StatRole RoleOfStat(std::string_view name) {
  for (const RoleName& known : kRoleNames) {
    if (known.name == name) return known.role;
  }
  return StatRole::kNone;
}

Stat ReadStat(std::string_view message) {
  Stat stat;
  WireReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        stat.name = reader.Signed();
        break;
      case 2:
        stat.real = reader.Double();
        break;
      case 3:  // uint64
      case 4:  // int64: the same bits
        stat.number = reader.Number();
        break;
      case 5:
        stat.text = reader.Bytes();
        break;
      case 7:
        stat.number = reader.Number();
        stat.is_reference = true;
        break;
      default:
        break;
    }
  }
  stat.ok = reader.ok();
  return stat;
}

std::string_view TextOf(const Stat& stat, const StatNames& names) {
  if (!stat.is_reference) return stat.text;
  const StatName* name = names.Find(static_cast<int64_t>(stat.number));
  return name == nullptr ? std::string_view() : std::string_view(name->name);
}

}  // namespace stallscope::importers::xplane
