#!/bin/sh
# Synthetic speakers beside those of FSDD, as files DIGIT_SPEAKER_TAKE.wav: 11 variants of 8 of espeak-ng's English
# voices, each with a speed and a pitch of its own. Usage: sh synthesize.sh FOLDER
set -eu
out=${1:?usage: sh synthesize.sh FOLDER}
command -v espeak-ng > /dev/null || { echo "espeak-ng is missing: apt-get install espeak-ng" >&2; exit 1; }
mkdir -p "$out"
count=0
for voice in en-gb en-us en-gb-scotland en-gb-x-rp en-gb-x-gbclan en-gb-x-gbcwmd en-029 en-us-nyc; do
    espeak-ng -q -v "$voice" zero 2> /dev/null || continue
    for variant in m1 m2 m3 m4 m5 m7 f1 f2 f3 f4 f5; do
        speaker="$voice-$variant"
        speed=$((120 + count * 37 % 90))
        pitch=$((25 + count * 23 % 55))
        digit=0
        for word in zero one two three four five six seven eight nine; do
            espeak-ng -v "$voice+$variant" -s "$speed" -p "$pitch" -w "$out/${digit}_${speaker}_10.wav" "$word"
            digit=$((digit + 1))
        done
        count=$((count + 1))
    done
done
echo "$count speakers in $out"
