// Where the CPU time of the hottest requests goes: the ten packages that take most, from CPU profiles of the
// running server under load. A profile makes the server slower, so only the shares count.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { timed } from './chat.ts'
import { openReceiver, withQueuedDeliveries } from './events.ts'
import { openLoad, type Shot } from './load.ts'
import { startModelServer } from './model-server.ts'
import type { Times } from './packages.ts'
import { addPeople, addProjects, createDatabase } from './population.ts'
import { serve } from './serve.ts'
import type { Stage } from './stage.ts'
import { upload } from './storage.ts'
import { count, table } from './table.ts'

export interface ProfileSizes {
  /** Requests of each operation. */
  requests: number
  streams: number
  tokens: number
  uploads: number
  deliveries: number
}

interface Profile {
  name: string
  times: Times
  /** The time is divided by this number. */
  units: number
}

const root = join(import.meta.dirname, '../..')
const main = join(root, 'app/main.ts')
const shown = 10

export async function benchProfiles(stage: Stage, sizes: ProfileSizes): Promise<string> {
  const profiles = [
    ...(await profileRequests(stage, sizes)),
    await profileChat(stage, sizes),
    await profileUploads(stage, sizes),
    await profileDeliveries(stage, sizes),
  ]
  return [
    'Time of the main thread, the ten packages that take most. The parts of Node.js are packages, too, and ' +
      'the folders of this project. The profiler takes time itself, so the shares count, not the sums.',
    ...profiles.map(report),
  ].join('\n\n')
}

async function profileRequests(stage: Stage, { requests }: ProfileSizes): Promise<Profile[]> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_profiles')
  const [reader, writer] = await addPeople(url, ['reader', 'writer'])
  const ids = await addProjects(url, dataDir, reader, 1_000)
  const { program, port } = await serve(stage, 'this server', main, { DATABASE_URL: url })
  let turn = 0
  const body = { name: 'Launch', description: 'Everything for the launch', tags: ['q4'] }
  const operations: Record<string, { status: number; next: () => Shot }> = {
    'GET /v1/projects/{id}, a request': {
      status: 200,
      next: () => ({ method: 'GET', path: `/v1/projects/${ids[turn++ % ids.length]}`, key: reader.key }),
    },
    'GET /v1/projects, a request': {
      status: 200,
      next: () => ({ method: 'GET', path: '/v1/projects', key: reader.key }),
    },
    'POST /v1/projects, a request': {
      status: 201,
      next: () => ({ method: 'POST', path: '/v1/projects', key: writer.key, body }),
    },
  }
  const profiles: Profile[] = []
  for (const [name, operation] of Object.entries(operations)) {
    const load = await openLoad({ port, connections: 32, ...operation })
    await load.fire({ seconds: 60, requests: Math.ceil(requests / 4) })
    const times = await program.profile(() => load.fire({ seconds: 600, requests }))
    load.close()
    profiles.push({ name, times, units: requests })
  }
  await program.stop()
  return profiles
}

async function profileChat(stage: Stage, { streams, tokens }: ProfileSizes): Promise<Profile> {
  const closers: Array<() => unknown> = []
  const pieces = Array.from({ length: tokens }, (_, i) => `word${i % 10} `)
  const modelServer = await startModelServer(
    { teardown: (close: () => unknown) => void closers.push(close) } as never,
    { key: null, embeddings: null, script: { pieces, piecesPerSecond: 50 } },
  )
  try {
    const url = await createDatabase((await stage.postgres()).url, 'bench_profile_chat')
    const [person] = await addPeople(url, ['chatter'])
    const { program, port } = await serve(stage, 'this server', main, {
      DATABASE_URL: url,
      AI_UPSTREAMS: modelServer.setting,
      RATE_LIMIT_AI: '1000000000',
      AI_STREAMS_PER_USER: '1000000',
    })
    const stream = (): Promise<unknown> =>
      timed(
        `http://127.0.0.1:${port}/v1/ai/chat/stream`,
        { message: 'Say it', model: 'small' },
        'message.delta',
        person.key,
      )
    await stream()
    const times = await program.profile(() => Promise.all(Array.from({ length: streams }, stream)))
    await program.stop()
    return { name: `POST /v1/ai/chat/stream, ${streams} at once, a token`, times, units: streams * tokens }
  } finally {
    for (const close of closers) await close()
  }
}

async function profileUploads(stage: Stage, { uploads }: ProfileSizes): Promise<Profile> {
  const url = await createDatabase((await stage.postgres()).url, 'bench_profile_uploads')
  const [{ key }] = await addPeople(url, ['uploader'])
  const folder = join(stage.folder, 'profiled-files')
  mkdirSync(folder)
  const server = await serve(stage, 'this server', main, {
    DATABASE_URL: url,
    STORAGE_DIR: folder,
    STORAGE_QUOTA_USER: String(2 ** 50),
  })
  const bytes = 2 ** 26
  await upload({ ...server, key }, bytes)
  const times = await server.program.profile(async () => {
    for (let i = 0; i < uploads; i++) await upload({ ...server, key }, bytes)
  })
  await server.program.stop()
  return { name: 'POST /v1/storage/upload, 64 MiB, a MiB', times, units: uploads * 64 }
}

async function profileDeliveries(stage: Stage, { deliveries }: ProfileSizes): Promise<Profile> {
  const { url: serverUrl } = await stage.postgres()
  const receiver = await openReceiver()
  try {
    const options = { serverUrl, name: 'bench_profile_deliveries', deliveries, receiver }
    const times = await withQueuedDeliveries(stage, options, (worker, drain) => worker.profile(drain))
    return { name: 'Webhooks, a delivery', times, units: deliveries }
  } finally {
    receiver.close()
  }
}

function report({ name, times, units }: Profile): string {
  const sorted = Object.entries(times).sort(([, a], [, b]) => b - a)
  const sum = sorted.reduce((total, [, time]) => total + time, 0)
  const rest = sorted.slice(shown).reduce((total, [, time]) => total + time, 0)
  const rows = [...sorted.slice(0, shown), ['all others', rest] as const, ['together', sum] as const]
  return table(
    [name, 'µs', 'share'],
    rows.map(([what, time]) => [what, count((time * 1_000) / units), `${Math.round((100 * time) / sum)} %`]),
  )
}
