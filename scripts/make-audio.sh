#!/bin/sh
# Makes examples/audio/hello.wav, the recording that the README's first command reads.
# Needs espeak-ng and sox (Debian: apt-get install espeak-ng sox). The result is in the repository, so nobody has to run this.
#
#     sh scripts/make-audio.sh [OUTPUT.wav]
set -eu

out=${1:-$(dirname "$0")/../examples/audio/hello.wav}
sentence='Hello. These are the features that Kaldi would compute.'

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# 1. Speech: espeak-ng's American English voice, 160 words a minute, at its own 22,050 Hz.
espeak-ng -v en-us -s 160 -w "$tmp/spoken.wav" "$sentence"

# 2. To 16 kHz, mono, 16 bit, with the peak 6 dB below full scale. -D: no dither, so that every run gives the same bytes.
sox -D "$tmp/spoken.wav" -r 16000 -c 1 -b 16 "$tmp/speech.wav" norm -6

# 3. A faint pink noise, like that of a room: digital silence would put the pauses on the floor of the logarithm.
# -R starts sox's random numbers from the same seed each time.
sox -R -D -n -r 16000 -c 1 -b 16 "$tmp/room.wav" synth "$(soxi -D "$tmp/speech.wav")" pinknoise vol 0.003

sox -R -D -m -v 1 "$tmp/speech.wav" -v 1 "$tmp/room.wav" "$out"
soxi "$out"
