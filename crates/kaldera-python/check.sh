#!/bin/sh
# Builds the wheel, installs it into a fresh environment with pytest, NumPy and kaldiio, runs the
# tests, and prints the time of an import and the size of the wheel. Needs Rust and Python 3.9 or
# newer. PYTHON names another interpreter, JOBS the compiler's jobs, PROFILE another than release.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
environment=target/check-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
began=$(date +%s)
rm -rf "$environment" target/wheels
"$python" -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' numpy pytest kaldiio
"$environment/bin/maturin" build --quiet --locked --profile "${PROFILE:-release}" --out target/wheels --interpreter "$environment/bin/python" \
    ${JOBS:+--jobs "$JOBS"}
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-deps target/wheels/*.whl
echo "built and installed in $(($(date +%s) - began)) s"
# Not from this folder, where python/kaldera has no library.
"$environment/bin/python" -m pytest -q --rootdir=. -p no:cacheprovider tests
"$environment/bin/python" - <<'PYTHON'
import glob, os, subprocess, sys

script = "import time; t = time.process_time(); import kaldera; print(time.process_time() - t)"
times = sorted(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5))
(wheel,) = glob.glob("target/wheels/*.whl")
print(f"import: {1000 * times[2]:.1f} ms of CPU, median of 5, without NumPy")
print(f"{os.path.basename(wheel)}: {os.path.getsize(wheel) / 1e6:.2f} MB")
PYTHON
echo "in all $(($(date +%s) - began)) s"
