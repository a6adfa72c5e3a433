// `openai` of npm. NODE_FOLDER has its node_modules; the other variables are those of common.py.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const { default: OpenAI } = createRequire(`${process.env.NODE_FOLDER}/`)('openai');
const { KALDERA_URL, KALDERA_KEYED_URL, KALDERA_WAV, KALDERA_STARTS } = process.env;
const starts = KALDERA_STARTS.split(' ').map(Number);
const text = 'three two five nine';
const tolerance = 0.15;

const client = (url = KALDERA_URL, apiKey = 'none') =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, timeout: 30000 });
const transcribe = (options = {}, api = client()) =>
  api.audio.transcriptions.create({ model: 'digits', file: fs.createReadStream(KALDERA_WAV), ...options });

function require(condition, message) {
  if (!condition) throw new Error(message);
}

function heard(found, times) {
  require(found.trim() === text, `the words are ${JSON.stringify(found)}`);
  if (!times) return text;
  require(times.length === starts.length, `there are ${times.length} times`);
  times.forEach((time, i) => {
    require(Math.abs(time - starts[i]) <= tolerance, `a word starts at ${time} s and not ${starts[i]} s`);
  });
  return `${text} (${times.map((time) => time.toFixed(2)).join(' ')})`;
}

async function check(name, run) {
  try {
    console.log(`ok ${name}: ${await run()}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAILED ${name}: ${error.name}: ${error.message}`);
  }
}

async function raises(kind, promise) {
  try {
    await promise;
  } catch (error) {
    require(error instanceof kind, `${error.name}: ${error.message}`);
    require(error.error?.message, 'the error says nothing');
    return `${kind.name}, ${error.code}: ${error.error.message.slice(0, 100)}`;
  }
  throw new Error('there is no error');
}

await check('npm openai models', async () => {
  const names = [];
  for await (const model of client().models.list()) names.push(model.id);
  require(names.includes('digits'), `the models are ${names}`);
  return names.join(' ');
});
await check('npm openai json', async () => {
  const answer = await transcribe();
  require(answer._request_id, 'there is no x-request-id');
  return heard(answer.text);
});
await check('npm openai text', async () => heard(await transcribe({ response_format: 'text' })));
await check('npm openai verbose_json', async () => {
  const answer = await transcribe({ response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] });
  require(Array.isArray(answer.segments), 'there are no segments');
  heard(answer.segments.map((segment) => segment.text).join(' '));
  return heard(answer.text, answer.words.map((word) => word.start));
});
await check('npm openai stream', async () => {
  let deltas = '';
  let done;
  for await (const event of await transcribe({ stream: true })) {
    if (event.type === 'transcript.text.delta') deltas += event.delta;
    if (event.type === 'transcript.text.done') done = event.text;
  }
  require(deltas === done, `the deltas make ${JSON.stringify(deltas)}`);
  return heard(done);
});
await check('npm openai wrong key', () =>
  raises(OpenAI.AuthenticationError, transcribe({}, client(KALDERA_KEYED_URL, 'wrong'))),
);
await check('npm openai unknown model', () => raises(OpenAI.NotFoundError, transcribe({ model: 'whisper-1' })));
// More than the buffers of a connection hold: a client that still writes must get the answer too.
await check('npm openai unknown model, large file', async () => {
  const large = await OpenAI.toFile(Buffer.alloc(16_000_000), 'large.wav');
  return raises(OpenAI.NotFoundError, transcribe({ model: 'whisper-1', file: large }));
});
await check('npm openai damaged file', async () => {
  const damaged = await OpenAI.toFile(fs.readFileSync(KALDERA_WAV).subarray(0, 9000), 'damaged.wav');
  return raises(OpenAI.BadRequestError, transcribe({ file: damaged }));
});
