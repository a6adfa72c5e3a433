"""The client of PyPI's `wyoming`, as Home Assistant and its satellites use it."""

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong

from common import MODEL, WYOMING_HOST, WYOMING_PORT, check, finish, heard, pcm, require

STREAMING = ["transcript-start", "transcript-chunk", "transcript", "transcript-stop"]


def connect():
    return AsyncClient.from_uri(f"tcp://{WYOMING_HOST}:{WYOMING_PORT}", connect_timeout=5, read_timeout=20)


async def read(client):
    event = await client.read_event()
    require(event is not None, "the connection is closed")
    require(event.type != "error", f"error: {event.data}")
    return event


async def program(client):
    await client.write_event(Describe().event())
    event = await read(client)
    require(Info.is_type(event.type), f"the answer is {event.type}")
    return Info.from_event(event).asr[0]


async def info():
    async with connect() as client:
        asr = await program(client)
        models = {model.name: model for model in asr.models}
        require(MODEL in models, f"the models are {list(models)}")
        # Home Assistant offers an engine only for the languages of its installed models.
        require(models[MODEL].installed and models[MODEL].languages, f"the model is {models[MODEL]}")
        require(asr.installed and asr.attribution.name, f"the program is {asr}")
        streaming = "streaming" if asr.supports_transcript_streaming else "no streaming"
        return f"{asr.name} {asr.version}, {' '.join(models[MODEL].languages)}, {streaming}"


async def turn(client, transcribe, factor):
    """Sends the recording and reads a turn's events, in the order that the info promises."""
    streaming = (await program(client)).supports_transcript_streaming
    rate, width, channels = 8000 * factor, 2, 1
    if transcribe is not None:
        await client.write_event(transcribe.event())
    await client.write_event(AudioStart(rate, width, channels).event())
    audio = pcm(factor)
    for begin in range(0, len(audio), 2048):
        await client.write_event(AudioChunk(rate, width, channels, audio[begin : begin + 2048]).event())
    await client.write_event(AudioStop().event())
    events = []
    while not events or events[-1].type != ("transcript-stop" if streaming else "transcript"):
        events.append(await read(client))
    kinds = [event.type for event in events]
    (text,) = [Transcript.from_event(event).text for event in events if Transcript.is_type(event.type)]
    if streaming:
        order = [kind for i, kind in enumerate(kinds) if kind != kinds[i - 1] or i == 0]
        require(order == STREAMING, f"the order is {kinds}")
        joined = "".join(event.data["text"] for event in events if event.type == "transcript-chunk")
        require(joined == text, f"the chunks make {joined!r}")
    else:
        require(kinds == ["transcript"], f"the order is {kinds}")
    return heard(text)


async def transcript(transcribe, factor, turns=1):
    async with connect() as client:
        for _ in range(turns):
            line = await turn(client, transcribe, factor)
        return line


async def ping():
    """A ping and an event that nobody knows, within a turn's connection."""
    async with connect() as client:
        await client.write_event(Event("played"))
        await client.write_event(Ping("text of the ping").event())
        pong = await read(client)
        require(Pong.is_type(pong.type), f"the answer is {pong.type}")
        require(Pong.from_event(pong).text == "text of the ping", f"the answer is {pong.data}")
        return await turn(client, Transcribe(name=MODEL), 1)


check("wyoming info", info)
check("wyoming 8 kHz", transcript, Transcribe(name=MODEL), 1)
check("wyoming 16 kHz", transcript, Transcribe(language="en"), 2)
check("wyoming without transcribe", transcript, None, 1)
check("wyoming, two turns", transcript, Transcribe(), 1, 2)
check("wyoming ping", ping)
finish()
