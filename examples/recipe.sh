#!/bin/sh
# A small recipe as Kaldi's are, without Kaldi: from recordings to MFCC with pitch, normalised by speaker.
#
#     sh examples/recipe.sh KALDERA DATA OUT
#
# KALDERA is the binary, DATA a folder with wav.scp (lines 'UTTERANCE FILE' or 'UTTERANCE COMMAND |') and utt2spk (lines
# 'UTTERANCE SPEAKER'), both sorted. In OUT come raw features (raw.scp), statistics (cmvn.scp), voice activity (vad.scp) and
# normalised features (feats.scp).
#
# The programs have their own names here: links to the one binary, as a recipe of Kaldi's finds them on its PATH.
set -eu

[ $# = 3 ] || { echo "usage: sh $0 KALDERA DATA OUT" >&2; exit 2; }
kaldera=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") data=$2 out=$3

mkdir -p "$out/bin"
for tool in add-deltas apply-cmvn compute-cmvn-stats compute-kaldi-pitch-feats compute-mfcc-feats compute-vad copy-feats \
    feat-to-dim feat-to-len paste-feats process-kaldi-pitch-feats; do
    ln -sf "$kaldera" "$out/bin/$tool"
done
PATH=$(cd "$out/bin" && pwd):$PATH
export PATH LC_ALL=C

# 1. MFCC and pitch side by side, compressed to a quarter.
mfcc="ark:compute-mfcc-feats --dither=0 scp:$data/wav.scp ark:- |"
pitch="ark,s,cs:compute-kaldi-pitch-feats scp:$data/wav.scp ark:- | process-kaldi-pitch-feats --delta-pitch-noise-stddev=0 ark:- ark:- |"
paste-feats --length-tolerance=2 "$mfcc" "$pitch" ark:- |
    copy-feats --compress=true ark:- "ark,scp:$out/raw.ark,$out/raw.scp"

# 2. Where somebody speaks, by the log energy in column 0.
compute-vad "scp:$out/raw.scp" "ark,scp:$out/vad.ark,$out/vad.scp"

# 3. Means and variances of each speaker.
awk '{ of[$2] = of[$2] " " $1 } END { for (speaker in of) print speaker of[speaker] }' "$data/utt2spk" | sort >"$out/spk2utt"
compute-cmvn-stats "--spk2utt=ark:$out/spk2utt" "scp:$out/raw.scp" "ark,scp:$out/cmvn.ark,$out/cmvn.scp"

# 4. Normalised features.
apply-cmvn --norm-vars=true "--utt2spk=ark:$data/utt2spk" "scp:$out/cmvn.scp" "scp:$out/raw.scp" \
    "ark,scp:$out/feats.ark,$out/feats.scp"

echo "$(feat-to-len "scp:$out/feats.scp") frames of $(feat-to-dim "scp:$out/feats.scp" -) dimensions in $out/feats.scp"
