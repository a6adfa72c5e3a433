#!/bin/sh
# Tests the wheel with torch, torchaudio, lhotse and Ray, in an environment of its own, and says what
# it ran and what it left out. CI does not run it: PyTorch alone is 3 GB.
#
# PYTHON names another interpreter. SITE names the site-packages of an environment of that
# interpreter which has some of the packages already, such as torch. WHEEL is a wheel that was
# built, KALDERA the command, to compare with, and MODEL a model folder to transcribe with. All are
# absolute paths.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
environment=${ENVIRONMENT:-${CARGO_TARGET_DIR:-target}/ecosystem}
ran="" left_out=""
rm -rf "$environment"
"$python" -m venv "$environment"
run=$environment/bin/python
if [ -n "${SITE:-}" ]; then
    echo "$SITE" >"$("$run" -c 'import site; print(site.getsitepackages()[0])')/site.pth"
fi
# Some may not be there for this interpreter: the rest is tested all the same.
for package in pytest numpy torch torchaudio lhotse 'ray[data]'; do
    "$run" -m pip install --quiet --disable-pip-version-check "$package" || left_out="$left_out
  $package, which pip does not install here"
done
if [ -z "${WHEEL:-}" ]; then
    "$run" -m pip install --quiet --disable-pip-version-check .
else
    "$run" -m pip install --quiet --disable-pip-version-check --no-deps "$WHEEL"
fi
if [ -z "${KALDERA:-}" ]; then
    left_out="$left_out
  what is compared with the command, as KALDERA does not name it"
fi

test_with() { # what, modules that it needs, tests
    if "$run" -c "import $2" 2>/dev/null; then
        echo "== $1"
        "$run" -m pytest -q -rs --rootdir=. -p no:cacheprovider "$3"
        ran="$ran
  $1: $("$run" -c "import $2 as m; print(m.__name__, m.__version__)")"
    else
        left_out="$left_out
  $1: there is no $2"
    fi
}
test_with "autograd functions beside PyTorch's" torch tests/test_torch.py
test_with "extractors in lhotse" lhotse tests/test_lhotse.py
if "$run" -c "import ray.data" 2>/dev/null; then
    echo "== Ray Data"
    "$run" ../../examples/ray/features.py ${KALDERA:+--command "$KALDERA"} ${MODEL:+--model "$MODEL"}
    ran="$ran
  Ray Data: $("$run" -c "import ray; print('ray', ray.__version__)")"
else
    left_out="$left_out
  Ray Data: there is no ray"
fi
echo "ran:$ran"
echo "left out:${left_out:- nothing}"
