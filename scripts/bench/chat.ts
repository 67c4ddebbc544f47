// Benchmark of chat: the time to the first token and to the complete answer compared with the model server
// itself, this server's CPU time per token with many concurrent streams, and that of a chat by either
// operation.
import { join } from 'node:path'
import { startModelServer } from './model-server.ts'
import { atMost, type Result } from './goals.ts'
import { leastOfRounds } from './rounds.ts'
import { serve } from './serve.ts'
import { largest, profileOf, scaled } from './spent.ts'
import { addPeople, createDatabase } from './population.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const main = join(import.meta.dirname, '../../app/main.ts')

const chatsPerRound = 50

export interface ChatSizes {
  rounds: number
  tokens: number
  streams: number
  perSecond: number
}

interface Times {
  first: number
  whole: number
}

export async function benchChat(
  stage: Stage,
  { rounds, tokens, streams, perSecond }: ChatSizes,
): Promise<Result> {
  const closers: Array<() => unknown> = []
  const pieces = Array.from({ length: tokens }, (_, i) => `word${i % 10} `)
  const modelServer = await startModelServer(
    {
      teardown: (close: () => unknown) => {
        closers.push(close)
      },
    } as never,
    { key: null, embeddings: null, script: { pieces } },
  )
  try {
    const url = await createDatabase((await stage.postgres()).url, 'bench_chat')
    const [person] = await addPeople(url, ['chatter'])
    const { program, port } = await serve(stage, 'this server', main, {
      DATABASE_URL: url,
      AI_UPSTREAMS: modelServer.setting,
      RATE_LIMIT_AI: '1000000000',
      AI_STREAMS_PER_USER: '1000000',
    })
    const ours = (): Promise<Times> =>
      timed(
        `http://127.0.0.1:${port}/v1/ai/chat/stream`,
        { message: 'Say it', model: 'small' },
        'message.delta',
        person.key,
      )
    const direct = (): Promise<Times> =>
      timed(
        `${modelServer.url}/chat/completions`,
        { model: 'small', stream: true, messages: [{ role: 'user', content: 'Say it' }] },
        'word',
      )
    const pairs: Array<[Times, Times]> = []
    for (let round = -2; round < rounds; round++) {
      const pair = round % 2 === 0 ? [await ours(), await direct()] : [await direct(), await ours()].reverse()
      if (round >= 0) pairs.push(pair as [Times, Times])
    }

    modelServer.script = { pieces, piecesPerSecond: perSecond }
    const stream = () => Promise.all(Array.from({ length: streams }, ours))
    // The first stream warms up the code.
    await stream()
    const before = await program.cpu()
    await stream()
    const cpu = (await program.cpu()) - before
    const spent = await profileOf(program, { work: stream, rounds: 1 })
    modelServer.script = { pieces: pieces.slice(0, 50) }
    const [plain, openAi] = await leastOfRounds(['ai/chat', 'chat/completions'], rounds, async (path) => {
      const messages = [{ role: 'user', content: 'Say it' }]
      const began = await program.cpu()
      for (let i = 0; i < chatsPerRound; i++)
        await timed(`http://127.0.0.1:${port}/v1/${path}`, { model: 'small', messages }, 'word', person.key)
      return { cpu: (await program.cpu()) - began }
    })
    await program.stop()
    const best = (of: (pair: [Times, Times]) => number): string => Math.min(...pairs.map(of)).toFixed(1)
    const middle = (of: (pair: [Times, Times]) => number): string =>
      pairs
        .map(of)
        .sort((a, b) => a - b)
        [Math.floor(pairs.length / 2)].toFixed(1)
    const perToken = (cpu / (streams * tokens)) * 1e6
    const text = [
      `Milliseconds for an answer of ${count(tokens)} tokens that the model returns at once; ` +
        `the best and the median of ${rounds} pairs.`,
      '',
      table(
        ['', 'first token', 'whole'],
        [
          [
            'the server of models',
            `${best(([, d]) => d.first)}, ${middle(([, d]) => d.first)}`,
            `${best(([, d]) => d.whole)}, ${middle(([, d]) => d.whole)}`,
          ],
          [
            'through this server',
            `${best(([o]) => o.first)}, ${middle(([o]) => o.first)}`,
            `${best(([o]) => o.whole)}, ${middle(([o]) => o.whole)}`,
          ],
          ['added', middle(([o, d]) => o.first - d.first), middle(([o, d]) => o.whole - d.whole)],
        ],
      ),
      '',
      `CPU of this server per token, with ${streams} streams of ${perSecond} tokens per second, after as ` +
        `many others: ${count(perToken)} µs, including everything before and after the tokens.`,
      '',
      'CPU of an answer of 50 tokens that is not streamed, the least of the rounds: ' +
        `${milliseconds(plain.cpu)} ms with \`POST /ai/chat\`, ` +
        `${milliseconds(openAi.cpu)} ms with \`POST /chat/completions\`.`,
    ].join('\n')
    const timeSpent = largest(scaled(spent, perToken / 1e6))
    const goals = [
      atMost(60, {
        name: `a streamed token, CPU with ${streams} streams`,
        value: perToken,
        unit: ' µs',
        digits: 0,
        timeSpent,
      }),
      atMost(1.1, {
        name: "a chat for OpenAI's clients, as a multiple of `POST /ai/chat`",
        value: openAi.cpu / plain.cpu,
        timeSpent,
      }),
    ]
    return { text, goals }
  } finally {
    for (const close of closers) await close()
  }
}

function milliseconds(cpu: number): string {
  return ((cpu / chatsPerRound) * 1000).toFixed(1)
}

/** Reads an answer to its end. @returns the times of the first token and of the end. */
export async function timed(url: string, body: object, sign: string, key?: string): Promise<Times> {
  const began = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  })
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}: ${await response.text()}`)
  let first = 0
  let seen = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    if (first > 0) continue
    seen += chunk
    if (seen.includes(sign)) first = performance.now() - began
  }
  return { first, whole: performance.now() - began }
}
