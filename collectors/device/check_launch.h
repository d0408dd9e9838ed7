// Whether a launch's operands are as many and as large as its kernel needs. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CHECK_LAUNCH_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CHECK_LAUNCH_H_

#include "analyzer/base/result.h"
#include "collectors/device/launch.h"

namespace stallscope::device {

Status CheckLaunch(const Launch& launch);

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CHECK_LAUNCH_H_
