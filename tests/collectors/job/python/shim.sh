#!/usr/bin/env bash
# One group of the shim's tests, on the Python of this machine: `shim.sh GROUP`. STALLSCOPE_PYTHON
# names another Python, STALLSCOPE_TORCH_PYTHON one that has a torch (default: Debian's),
# STALLSCOPE_TENSORFLOW_PYTHON one that has TensorFlow and Keras.
set -euo pipefail
python=${STALLSCOPE_PYTHON:-python3}
file=test_shim.py
if [[ $1 == *Windows ]]; then file=test_profile.py; fi
if [[ $1 == TensorFlow ]]; then
  file=test_profile.py
  python=${STALLSCOPE_TENSORFLOW_PYTHON:-}
  [[ -n $python ]] || { echo "skipped: STALLSCOPE_TENSORFLOW_PYTHON names no Python" && exit 77; }
elif [[ $1 == Torch* ]]; then
  python=${STALLSCOPE_TORCH_PYTHON:-/usr/bin/python3}
  "$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch" && exit 77; }
elif ! command -v "$python" >/dev/null; then
  echo "skipped: no $python" && exit 77
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
exec "$python" -B "$file" "$1"
