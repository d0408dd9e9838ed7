#!/usr/bin/env bash
# One group of the shim's tests, on the Python of this machine: `shim.sh GROUP`. STALLSCOPE_PYTHON
# names another Python, STALLSCOPE_TORCH_PYTHON one that has a torch (default: Debian's).
set -euo pipefail
python=${STALLSCOPE_PYTHON:-python3}
if [[ $1 == Torch* ]]; then
  python=${STALLSCOPE_TORCH_PYTHON:-/usr/bin/python3}
  "$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch" && exit 77; }
elif ! command -v "$python" >/dev/null; then
  echo "skipped: no $python" && exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
file=test_shim.py
[[ $1 == Loops ]] && file=test_loops.py
exec "$python" -B "$file" "$1"
