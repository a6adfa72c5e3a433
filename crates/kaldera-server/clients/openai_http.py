"""`openai` of PyPI against `POST /v1/audio/transcriptions` and `GET /v1/models`.

The client checks each answer against its own models, with no field left out.
"""

import re

import openai

from common import KEY, KEYED_URL, MODEL, STARTS, TEXT, URL, WAV, check, finish, heard, near, require


def client(url=URL, key="none"):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=30, _strict_response_validation=True)


def transcribe(api=None, file=None, model=MODEL, **options):
    with open(WAV, "rb") as recording:
        return (api or client()).audio.transcriptions.create(model=model, file=file or recording, **options)


def models():
    names = [model.id for model in client().models.list()]
    require(MODEL in names, f"the models are {names}")
    require(client().models.retrieve(MODEL).id == MODEL, "the model has another id")
    return " ".join(names)


def json():
    answer = transcribe()
    require(answer._request_id, "there is no x-request-id")
    return heard(answer.text)


def text():
    return heard(transcribe(response_format="text"))


def subtitles(form):
    """The words of all cues, and the time of the first of them."""
    answer = transcribe(response_format=form)
    if form == "vtt":
        require(answer.startswith("WEBVTT\n"), f"it begins with {answer[:20]!r}")
    point = "," if form == "srt" else "."
    time = rf"(?:(\d\d):)?(\d\d):(\d\d)\{point}(\d\d\d)"
    cues = re.findall(rf"{time} --> {time}[^\n]*\n(.+?)(?:\n\n|\n*$)", answer, re.S)
    require(cues, f"there are no cues in {answer!r}")
    hours, minutes, seconds, milliseconds = (int(part or 0) for part in cues[0][:4])
    start = 3600 * hours + 60 * minutes + seconds + milliseconds / 1000
    near(start, STARTS[0], "the first cue")
    return f"{heard(' '.join(cue[8] for cue in cues))} from {start:.2f}"


def verbose():
    answer = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"], language="en")
    near(answer.duration, 2.0, "the duration")
    require(answer.segments, "there are no segments")
    heard(" ".join(segment.text for segment in answer.segments))
    near(answer.segments[0].start, STARTS[0], "the first segment")
    require(all(a.end <= b.start + 0.01 for a, b in zip(answer.words, answer.words[1:])), "words overlap")
    heard(" ".join(word.word for word in answer.words))
    return heard(answer.text, [word.start for word in answer.words])


def segments_by_default():
    answer = transcribe(response_format="verbose_json")
    require(answer.segments and not answer.words, "segments are for all, words for those who ask")
    return heard(answer.text)


def stream():
    deltas, done = [], None
    for event in transcribe(stream=True):
        require(done is None, "an event comes after the last")
        if event.type == "transcript.text.delta":
            deltas.append(event.delta)
        else:
            require(event.type == "transcript.text.done", f"there is an event {event.type}")
            done = event.text
    require(done is not None, "there is no transcript.text.done")
    require("".join(deltas) == done, f"the deltas {deltas} do not make {done!r}")
    return heard(done)


def streams():
    """Many of them: an end must not overtake its text."""
    for _ in range(100):
        line = stream()
    return f"{line}, 100 times"


def raises(kind, run, *arguments, **options):
    """The line for a request that must fail, with the server's own words."""
    try:
        answer = run(*arguments, **options)
    except kind as error:
        require(error.body and error.body["message"] and error.type, f"the error says nothing: {error}")
        return f"{kind.__name__}, {error.code}: {error.body['message'][:100]}"
    require(False, f"there is no error but {answer!r}")


def right_key():
    return heard(transcribe(client(KEYED_URL, KEY)).text)


def large():
    """More than the buffers of a connection hold: a client that still writes must get the answer too."""
    return ("large.wav", bytes(16_000_000))


def damaged():
    """A WAV header that promises more than there is."""
    with open(WAV, "rb") as recording:
        return ("damaged.wav", recording.read(9000))


check("openai models", models)
check("openai json", json)
check("openai text", text)
check("openai srt", subtitles, "srt")
check("openai vtt", subtitles, "vtt")
check("openai verbose_json", verbose)
check("openai verbose_json, segments", segments_by_default)
check("openai stream", streams)
check("openai right key", right_key)
check("openai wrong key", raises, openai.AuthenticationError, transcribe, client(KEYED_URL, "wrong"))
check("openai unknown model", lambda: raises(openai.NotFoundError, transcribe, model="whisper-1"))
check("openai wrong key, large file", raises, openai.AuthenticationError, transcribe, client(KEYED_URL), large())
check("openai unknown model, large file", lambda: raises(openai.NotFoundError, transcribe, model="x", file=large()))
check("openai unknown model, retrieve", lambda: raises(openai.NotFoundError, client().models.retrieve, "whisper-1"))
check("openai damaged file", lambda: raises(openai.BadRequestError, transcribe, file=damaged()))
check("openai text as a file", lambda: raises(openai.BadRequestError, transcribe, file=("a.wav", TEXT.encode())))
check("openai unknown format", lambda: raises(openai.BadRequestError, transcribe, response_format="diarized_json"))
finish()
