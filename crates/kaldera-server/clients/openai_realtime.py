"""`openai` of PyPI against the WebSocket `/v1/realtime?intent=transcription`.

Each event is checked against the package's own model of it, with no field left out.
"""

import base64
import json
import typing

import openai
import pydantic
import websockets
from openai.types.beta.realtime.realtime_server_event import RealtimeServerEvent as BetaEvent
from openai.types.realtime.realtime_server_event import RealtimeServerEvent

import common
from common import KEY, KEYED_URL, MODEL, STARTS, URL, Wrong, check, finish, heard, require

AUDIO = {"pcm16": lambda: common.pcm(3), "g711_ulaw": common.mu_law, "g711_alaw": common.a_law}
FORMATS = {
    "pcm16": {"type": "audio/pcm", "rate": 24000},
    "g711_ulaw": {"type": "audio/pcmu"},
    "g711_alaw": {"type": "audio/pcma"},
}
SECOND = {"pcm16": 48000, "g711_ulaw": 8000, "g711_alaw": 8000}
SILENCE = {"pcm16": b"\0", "g711_ulaw": b"\xff", "g711_alaw": b"\xd5"}
VAD = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}
TRANSCRIPTION = "conversation.item.input_audio_transcription."


def models_of_events(union):
    events = typing.get_args(typing.get_args(union)[0])
    return {typing.get_args(event.model_fields["type"].annotation)[0]: event for event in events}


class Session:
    """A connection, with every event that came, checked."""

    def __init__(self, connection, beta):
        self.connection = connection
        self.models = models_of_events(BetaEvent if beta else RealtimeServerEvent)
        self.events = []

    async def next(self):
        raw = json.loads(await self.connection.recv_bytes())
        kind = raw.get("type")
        require(kind in self.models, f"the client does not know an event {kind!r}")
        if kind == "transcription_session.updated":
            # OpenAI's server sends null for the secret, against the model, which has OpenAI's names only.
            raw["session"]["client_secret"] = {"expires_at": 0, "value": ""}
            raw["session"]["input_audio_transcription"].pop("model")
        try:
            event = self.models[kind].model_validate(raw)
        except pydantic.ValidationError as error:
            raise Wrong(f"{kind}: {error}") from error
        if kind == "error" or kind == TRANSCRIPTION + "failed":
            raise Wrong(f"{kind}: {event.error.message}")
        self.events.append(event)
        return event

    async def until(self, *kinds):
        while (event := await self.next()).type not in kinds:
            pass
        return event

    async def send(self, audio, kind):
        step = SECOND[kind] // 10 + 1  # an odd number of bytes: a chunk may end in the middle of a sample
        for begin in range(0, len(audio), step):
            chunk = base64.b64encode(audio[begin : begin + step]).decode()
            await self.connection.input_audio_buffer.append(audio=chunk)

    def kinds_of(self, item):
        """The kinds of the events of an item, in order; an item's own event has it inside."""
        item_of = lambda event: getattr(event, "item_id", None) or getattr(getattr(event, "item", None), "id", None)
        return [event.type for event in self.events if item_of(event) == item]

    async def transcripts(self, count, beta, vad):
        """The texts of completed items until they have `count` words in all."""
        texts = []
        while len(" ".join(texts).split()) < count:
            done = await self.until(TRANSCRIPTION + "completed")
            texts.append(done.transcript)
            kinds = self.kinds_of(done.item_id)
            order = ["input_audio_buffer.committed", TRANSCRIPTION + "completed"]
            if vad:
                order[:0] = ["input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped"]
            require([kind for kind in kinds if kind in order] == order, f"the order is {kinds}")
            item = ["conversation.item.created"] if beta else ["conversation.item.added", "conversation.item.done"]
            require(all(kinds.count(kind) == 1 for kind in item), f"not once {' and '.join(item)} in {kinds}")
            deltas = [event for event in self.events if event.type == TRANSCRIPTION + "delta"]
            deltas = [event.delta for event in deltas if event.item_id == done.item_id]
            require("".join(deltas) == done.transcript, f"the deltas {deltas} do not make {done.transcript!r}")
        return " ".join(texts)


def connect(beta=False, url=URL, key="none"):
    base = f"{url}/v1"
    client = openai.AsyncOpenAI(base_url=base, api_key=key, websocket_base_url=base.replace("http", "ws", 1))
    if beta:
        return client.beta.realtime.connect(model=MODEL, extra_query={"intent": "transcription"})
    return client.realtime.connect(extra_query={"intent": "transcription"})


async def configure(session, kind, vad, beta):
    """Sends the settings in one of their forms, and checks the answer's."""
    turns = VAD if vad else None
    if beta is None:
        audio = {"format": FORMATS[kind], "transcription": {"model": MODEL, "language": "en"}, "turn_detection": turns}
        await session.connection.session.update(session={"type": "transcription", "audio": {"input": audio}})
        updated = (await session.until("session.updated")).session.audio.input
        require(updated.format.type == FORMATS[kind]["type"], f"the format became {updated.format}")
        require(updated.transcription.model == MODEL, f"the model became {updated.transcription.model}")
    else:
        language = {"input_audio_transcription": {"language": "en"}}
        settings = {"input_audio_format": kind, "turn_detection": turns, **language}
        await getattr(session.connection, beta).update(session=settings)
        updated = (await session.until(f"{beta}.updated")).session
        require(updated.input_audio_format == kind, f"the format became {updated.input_audio_format}")
    require((updated.turn_detection is not None) == vad, f"turn_detection became {updated.turn_detection}")


async def recognize(kind, vad, beta=None):
    """`beta` is None or the older client's name of the settings: `session` or `transcription_session`."""
    async with connect(beta is not None) as connection:
        session = Session(connection, beta is not None)
        require((await session.next()).type == "session.created", "it does not begin with session.created")
        await configure(session, kind, vad, beta)
        audio = AUDIO[kind]()
        if not vad:
            # The first second is taken back.
            await session.send(audio[: SECOND[kind]], kind)
            await connection.input_audio_buffer.clear()
            await session.until("input_audio_buffer.cleared")
            await session.send(audio, kind)
            await connection.input_audio_buffer.commit()
            return heard(await session.transcripts(4, beta is not None, vad))
        await session.send(audio + SILENCE[kind] * (3 * SECOND[kind] // 2 // 2 * 2), kind)
        line = heard(await session.transcripts(4, beta is not None, vad))
        began = [event.audio_start_ms / 1000 for event in session.events if event.type.endswith("speech_started")]
        ended = [event.audio_end_ms / 1000 for event in session.events if event.type.endswith("speech_stopped")]
        # The beginning may lie earlier by the padding, the end later by the silence that was waited for.
        require(0 <= began[0] <= STARTS[0] + common.TOLERANCE, f"speech began at {began}")
        require(STARTS[-1] < ended[-1] <= 3.5, f"speech ended at {ended}")
        return f"{line} from {began[0]:.2f} to {ended[-1]:.2f}"


async def two_turns():
    """An item names the one before it; the second text has nothing of the first."""
    async with connect() as connection:
        session = Session(connection, beta=False)
        await session.until("session.created")
        await configure(session, "g711_ulaw", vad=False, beta=None)
        for _ in range(2):
            await session.send(common.mu_law(), "g711_ulaw")
            await connection.input_audio_buffer.commit()
            line = heard(await session.transcripts(4, beta=False, vad=False))
        first, second = [event for event in session.events if event.type == "input_audio_buffer.committed"]
        require(first.previous_item_id is None, "the first item has a predecessor")
        require(second.previous_item_id == first.item_id, "the second item does not name the first")
        require(len({event.event_id for event in session.events}) == len(session.events), "an event_id comes twice")
        return f"{line}, twice"


async def update_between():
    """An update that changes no more than the language leaves the speech so far as it is."""
    async with connect() as connection:
        session = Session(connection, beta=False)
        await session.until("session.created")
        await configure(session, "g711_ulaw", vad=False, beta=None)
        audio = common.mu_law()
        await session.send(audio[:8000], "g711_ulaw")
        settings = {"transcription": {"model": MODEL, "language": "de"}}
        await connection.session.update(session={"type": "transcription", "audio": {"input": settings}})
        updated = (await session.until("session.updated")).session.audio.input
        require(updated.format.type == "audio/pcmu", f"the format became {updated.format}")
        require(updated.turn_detection is None, f"turn_detection became {updated.turn_detection}")
        await session.send(audio[8000:], "g711_ulaw")
        await connection.input_audio_buffer.commit()
        return heard(await session.transcripts(4, beta=False, vad=False))


async def unknown_event():
    """An error names the event that it is for, and the session goes on."""
    async with connect() as connection:
        session = Session(connection, beta=False)
        await session.until("session.created")
        await configure(session, "g711_alaw", vad=False, beta=None)
        await connection.send({"type": "response.create", "event_id": "mine"})
        answer = json.loads(await connection.recv_bytes())
        require(answer["type"] == "error", f"the answer is {answer['type']}")
        require(answer["error"]["event_id"] == "mine", f"the error is for {answer['error'].get('event_id')}")
        await session.send(common.a_law(), "g711_alaw")
        await connection.input_audio_buffer.commit()
        heard(await session.transcripts(4, beta=False, vad=False))
        return f"{answer['error']['code']}: {answer['error']['message'][:100]}"


async def wrong_key():
    try:
        async with connect(url=KEYED_URL, key="wrong"):
            require(False, "a wrong key gets a connection")
    except websockets.InvalidStatus as error:
        require(error.response.status_code == 401, f"the status is {error.response.status_code}")
        return "status 401"


async def right_key():
    async with connect(url=KEYED_URL, key=KEY) as connection:
        return (await connection.recv()).type


check("openai realtime pcm, commit", recognize, "pcm16", False)
check("openai realtime pcm, VAD", recognize, "pcm16", True)
check("openai realtime pcmu, commit", recognize, "g711_ulaw", False)
check("openai realtime pcmu, VAD", recognize, "g711_ulaw", True)
check("openai realtime pcma, commit", recognize, "g711_alaw", False)
check("openai realtime pcma, VAD", recognize, "g711_alaw", True)
check("openai beta realtime pcm16, commit", recognize, "pcm16", False, "session")
check("openai beta realtime pcm16, VAD", recognize, "pcm16", True, "session")
check("openai beta realtime g711_ulaw, commit", recognize, "g711_ulaw", False, "transcription_session")
check("openai beta realtime g711_alaw, VAD", recognize, "g711_alaw", True, "transcription_session")
check("openai realtime, two turns", two_turns)
check("openai realtime, update in between", update_between)
check("openai realtime, unknown event", unknown_event)
check("openai realtime right key", right_key)
check("openai realtime wrong key", wrong_key)
finish()
