#!/usr/bin/env bash
# One group of the shim's tests, on the Python of this machine: `shim.sh GROUP`. STALLSCOPE_PYTHON
# names another Python, STALLSCOPE_TORCH_PYTHON one that has a torch (default: Debian's),
# STALLSCOPE_LOADERS_PYTHON some that have WebDataset, datasets, grain and others.
set -euo pipefail
python=${STALLSCOPE_PYTHON:-python3}
if [[ $1 == Torch* ]]; then
  python=${STALLSCOPE_TORCH_PYTHON:-/usr/bin/python3}
  "$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch" && exit 77; }
elif ! command -v "$python" >/dev/null; then
  echo "skipped: no $python" && exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
case $1 in
  Loops) file=test_loops.py ;;
  StandIns) file=test_libraries.py ;;
  Libraries)
    file=test_libraries.py
    [[ -n ${STALLSCOPE_LOADERS_PYTHON:-} ]] ||
      { echo "skipped: no STALLSCOPE_LOADERS_PYTHON" && exit 77; }
    ;;
  *) file=test_shim.py ;;
esac
exec "$python" -B "$file" "$1"
