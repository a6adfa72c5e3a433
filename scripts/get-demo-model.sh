#!/bin/sh
# A real network end to end: fetches a CTC network, a dictionary and a language model by pip, makes a model folder of
# 20,000 words of them, and transcribes the LibriVox sentences of Debian's pocketsphinx-testdata.
#
#     cargo install --path crates/kaldera-cli --features onnx
#     sh scripts/get-demo-model.sh FOLDER
#
# FOLDER gets packages (a virtual environment of Python), model (the model folder), testdata and results; steps that
# are done are not done again, unless one before them is. KALDERA names the command, if it is not on the PATH. Needs
# python3 with venv, and for the recordings apt-get and dpkg, which install nothing.
#
# What is fetched: hama 1.3.13 (network and G2P; Apache-2.0 by its metadata, which does not state the training data),
# pocketsphinx 5.1.1 (dictionary and language model; BSD-2), onnxruntime and numpy (for the G2P), pocketsphinx-testdata
# (public domain). Settings were fixed before the first run: acoustic scale 1.0, beam 20, model pruned at 1e-7.
set -eu

[ $# -eq 1 ] || { echo "usage: get-demo-model.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
kaldera=${KALDERA:-kaldera}
# Also from within FOLDER.
found=$(command -v "$kaldera" || echo "$kaldera")
case $found in
    /*) kaldera=$found ;;
    */*) kaldera=$PWD/$found ;;
esac
"$kaldera" --version || { echo "no command '$kaldera': set KALDERA, or install it with --features onnx" >&2; exit 1; }
# Of a build without ONNX this is all that it says.
if "$kaldera" model import "$1/nothing" -o "$1/none" 2>&1 | grep -e '--features onnx' >&2; then exit 1; fi
mkdir -p "$1/model" "$1/results"
cd "$1"
python=packages/bin/python
step() { echo "$(date +%H:%M:%S) $*"; }

if [ ! -e packages/done ]; then
    step "fetching hama, pocketsphinx, onnxruntime and numpy"
    rm -f model/lexicon.txt
    python3 -m venv packages
    packages/bin/pip install --quiet --no-deps hama==1.3.13 pocketsphinx==5.1.1
    packages/bin/pip install --quiet onnxruntime numpy
    touch packages/done
fi

if [ ! -e model/lexicon.txt ]; then
    step "reading the language model"
    rm -f model/lm.arpa.gz
    lm=$($python -c 'import importlib.resources as r; print(r.files("pocketsphinx").joinpath("model/en-us/en-us.lm.bin"))')
    "$kaldera" lm convert "$lm" en-us.arpa
    step "spelling the words of the lexicon"
    $python "$here/demo-model/prepare.py" en-us.arpa model
fi

if [ ! -e model/lm.arpa.gz ]; then
    step "restricting and pruning the language model"
    rm -f model/HLG.fst
    "$kaldera" lm restrict --vocab=model/words.txt en-us.arpa restricted.bin
    # Pruning compares models whose histories sum to 1.
    "$kaldera" lm normalize restricted.bin normalized.bin
    "$kaldera" lm prune --threshold=1e-7 normalized.bin part.arpa.gz
    mv part.arpa.gz model/lm.arpa.gz
    rm restricted.bin normalized.bin
fi

if [ ! -e model/HLG.fst ]; then
    step "building HLG"
    "$kaldera" fst make-hlg --word-boundary='<wb>' --no-boundary-at-end --tokens=model/tokens.txt \
        model/lexicon.txt model/lm.arpa.gz part.fst
    mv part.fst.words.txt model/graph-words.txt
    rm part.fst.tokens.txt
    mv part.fst model/HLG.fst
fi

cat >model/model.toml <<'TOML'
kind = "ctc"
tokens = "tokens.txt"
separator = "<wb>"
lexicon = "lexicon.txt"
graph = "HLG.fst"
graph-words = "graph-words.txt"
subsampling = 320

[features]
kind = "samples"
sample-frequency = 16000

[network]
file = "network.onnx"
outputs = "outputs.txt"

[decoding]
acoustic-scale = 1.0
search-beam = 20.0
TOML
"$kaldera" model check model

if [ ! -e testdata/usr ]; then
    step "fetching the recordings"
    mkdir -p testdata
    (cd testdata && apt-get download pocketsphinx-testdata && dpkg -x pocketsphinx-testdata_*.deb .) || {
        echo "the recordings were left out: they are in Debian's package pocketsphinx-testdata" >&2
        exit 0
    }
fi
librivox=testdata/usr/share/pocketsphinx/test/data/librivox

# Lines '<s> WORDS </s> (KEY)' to 'KEY WORDS'. The dictionary has mister as mr.
sed -n 's/^<s> \(.*\) <\/s> (\(.*\))$/\2 \1/p' "$librivox/transcription" | sed 's/ mister / mr /g' >results/text
step "transcribing"
begin=$(date +%s.%N)
"$kaldera" transcribe --jobs=1 -o results/words.jsonl model "$librivox" &
pid=$!
# The largest memory, which the system forgets with the process.
peak=0
while kill -0 $pid 2>/dev/null; do
    now=$(awk '/^VmHWM/ { print $2 }' /proc/$pid/status 2>/dev/null || echo "")
    peak=${now:-$peak}
    sleep 0.1
done
wait $pid
end=$(date +%s.%N)
"$kaldera" transcribe --quiet --jobs=1 model "$librivox" | sed 's/ mister / mr /g' >results/words.txt
cat results/words.txt
"$kaldera" score results/text results/words.txt
seconds=$(wc -c "$librivox"/*.wav | awk 'END { printf "%.1f", $1 / 32000 }')
awk -v b="$begin" -v e="$end" -v s="$seconds" -v p="$peak" 'BEGIN {
    printf "%s s of audio in %.1f s with reading the model: %.3f times real time; peak memory %.0f MB\n", s, e - b, (e - b) / s, p / 1000
}'
step "done: the model is $PWD/model, its results are in $PWD/results"
