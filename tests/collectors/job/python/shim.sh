#!/usr/bin/env bash
# One group of the shim's tests, on the Python of this machine: `shim.sh GROUP`. STALLSCOPE_PYTHON
# names another Python, STALLSCOPE_TORCH_PYTHON one that has a torch (default: Debian's),
# STALLSCOPE_LOADERS_PYTHON some that have WebDataset, datasets, grain and others,
# STALLSCOPE_TENSORFLOW_PYTHON one that has TensorFlow and Keras.
set -euo pipefail
python=${STALLSCOPE_PYTHON:-python3}
case $1 in
  Loops) file=test_loops.py ;;
  StandIns | Libraries) file=test_libraries.py ;;
  Probe*) file=test_probe.py ;;
  *Windows | TensorFlow) file=test_profile.py ;;
  *) file=test_shim.py ;;
esac
if [[ $1 == TensorFlow ]]; then
  python=${STALLSCOPE_TENSORFLOW_PYTHON:-}
  [[ -n $python ]] || { echo "skipped: STALLSCOPE_TENSORFLOW_PYTHON names no Python" && exit 77; }
elif [[ $1 == Libraries && -z ${STALLSCOPE_LOADERS_PYTHON:-} ]]; then
  echo "skipped: no STALLSCOPE_LOADERS_PYTHON" && exit 77
elif [[ $1 == Torch* ]]; then
  python=${STALLSCOPE_TORCH_PYTHON:-/usr/bin/python3}
  "$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch" && exit 77; }
elif ! command -v "$python" >/dev/null; then
  echo "skipped: no $python" && exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
exec "$python" -B "$file" "$1"
