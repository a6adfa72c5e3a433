#!/bin/sh
# Tests the wheel with torch, torchaudio, lhotse, Ray and NeMo Curator, in an environment of its own, and beside
# k2; says what it ran and what it left out. CI does not run it: PyTorch alone is 3 GB.
#
# PYTHON names another interpreter. SITE names the site-packages of an environment of that
# interpreter which has some of the packages already, such as torch. WHEEL is a wheel that was
# built, PROFILE another than release to build one, KALDERA the command, to compare with, and MODEL a
# model folder to transcribe with. K2_PYTHON is the python of an environment with k2, which pip has
# for few versions of Python and PyTorch. All but PROFILE are absolute paths.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
environment=${ENVIRONMENT:-${CARGO_TARGET_DIR:-target}/ecosystem}
ran="" left_out=""
rm -rf "$environment" "$environment-k2"
"$python" -m venv "$environment"
run=$environment/bin/python

install() { # python, what
    "$1" -m pip install --quiet --disable-pip-version-check "$2"
}
site_of() { # python
    "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}
if [ -n "${SITE:-}" ]; then
    echo "$SITE" >"$(site_of "$run")/site.pth"
fi
# Some may not be there for this interpreter: the rest is tested all the same.
for package in pytest numpy torch torchaudio lhotse 'ray[data]' soundfile nemo-curator; do
    install "$run" "$package" || left_out="$left_out
  $package, which pip does not install here"
done
wheel=${WHEEL:-}
if [ -z "$wheel" ]; then
    install "$run" 'maturin>=1.9,<2'
    rm -rf "$environment/wheels"
    "$environment/bin/maturin" build --quiet --locked --profile "${PROFILE:-release}" --out "$environment/wheels" \
        --interpreter "$run" ${JOBS:+--jobs "$JOBS"}
    wheel=$(ls "$environment"/wheels/*.whl)
fi
"$run" -m pip install --quiet --disable-pip-version-check --no-deps "$wheel"
if [ -z "${KALDERA:-}" ]; then
    left_out="$left_out
  what is compared with the command, as KALDERA does not name it"
fi

test_with() { # python, what, module that it needs, tests
    by=$1 what=$2 module=$3
    shift 3
    if "$by" -c "import $module" 2>/dev/null; then
        echo "== $what"
        "$by" -m pytest -q -rs --rootdir=. -p no:cacheprovider "$@"
        ran="$ran
  $what: $("$by" -c "import sys, $module as m; print(m.__name__, getattr(m, '__version__', None) or m.__dev_version__, 'on Python', sys.version.split()[0])")"
    else
        left_out="$left_out
  $what: there is no $module"
    fi
}
test_with "$run" "autograd functions beside PyTorch's and k2's answers" torch tests/test_torch.py tests/test_torch_answers.py
test_with "$run" "extractors in lhotse" lhotse tests/test_lhotse.py
test_with "$run" "the adapter in NeMo Curator" nemo_curator tests/test_curator.py
if [ -n "${K2_PYTHON:-}" ]; then
    "$K2_PYTHON" -m venv "$environment-k2"
    k2=$environment-k2/bin/python
    site_of "$K2_PYTHON" >"$(site_of "$k2")/site.pth"
    install "$k2" pytest
    "$k2" -m pip install --quiet --disable-pip-version-check --no-deps "$wheel"
    test_with "$k2" "k2's names beside k2" k2 tests/test_beside_k2.py tests/test_torch.py
else
    left_out="$left_out
  k2's names beside k2, as K2_PYTHON does not name an environment with it"
fi
if "$run" -c "import ray.data" 2>/dev/null; then
    echo "== Ray Data"
    "$run" ../../examples/ray/features.py ${KALDERA:+--command "$KALDERA"}
    if [ -n "${MODEL:-}" ]; then
        "$run" ../../examples/ray/transcribe.py ${KALDERA:+--command "$KALDERA"} "$MODEL"
    else
        left_out="$left_out
  transcripts by Ray Data: MODEL names no folder"
    fi
    ran="$ran
  Ray Data: $("$run" -c "import ray; print('ray', ray.__version__)")"
else
    left_out="$left_out
  Ray Data: there is no ray"
fi
echo "ran:$ran"
echo "left out:${left_out:- nothing}"
