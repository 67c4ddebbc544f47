// Benchmark of files: upload and download compared with a minimal Fastify server that only writes and
// hashes.
import { mkdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { serve, type Server } from './serve.ts'
import { atMost, type Result } from './goals.ts'
import { addPeople, createDatabase } from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { largest, profileOf, scaled, type Spent } from './spent.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

const here = import.meta.dirname
const main = join(here, '../../app/main.ts')
const gibibyte = 2 ** 30

export interface Lane extends Server {
  key: string
}

export async function benchStorage(
  stage: Stage,
  { rounds, bytes }: { rounds: number; bytes: number },
): Promise<Result> {
  const url = await createDatabase((await stage.postgres()).url, 'bench_storage')
  const [person] = await addPeople(url, ['uploader'])
  const servers: Lane[] = []
  for (const [name, file] of Object.entries({
    'this server': main,
    'Fastify by hand': join(here, 'servers/files.ts'),
  })) {
    const folder = join(stage.folder, `files-${servers.length}`)
    mkdirSync(folder)
    const limits = { RATE_LIMIT_UPLOAD: '1000000000', STORAGE_QUOTA_USER: String(2 ** 50) }
    servers.push({
      ...(await serve(stage, name, file, { DATABASE_URL: url, STORAGE_DIR: folder, ...limits })),
      key: person.key,
    })
  }
  const costs = await leastOfRounds(servers, rounds, async (server) => {
    const before = await server.program.cpu()
    const id = await upload(server, bytes)
    const between = await server.program.cpu()
    await download(server, id, bytes)
    const after = await server.program.cpu()
    if (server.name === 'this server')
      await fetch(`http://127.0.0.1:${server.port}/v1/storage/files/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${server.key}` },
      })
    return { up: ((between - before) * gibibyte) / bytes, down: ((after - between) * gibibyte) / bytes }
  })
  const spent = { up: [] as Spent[], down: [] as Spent[] }
  for (const server of servers) {
    let id = ''
    const up = async (): Promise<unknown> => (id = await upload(server, bytes))
    spent.up.push(await profileOf(server.program, { work: up }))
    spent.down.push(await profileOf(server.program, { work: () => download(server, id, bytes) }))
  }
  for (const [i, { program }] of servers.entries()) {
    await program.stop()
    rmSync(join(stage.folder, `files-${i}`), { recursive: true })
  }
  const [ours, bare] = costs
  const more = (kind: 'up' | 'down'): string => {
    const [first, second] = costs.map((cost, i) => scaled(spent[kind][i], cost[kind] / 1024))
    return `more than the bare server for a MiB: ${largest(first, second)}`
  }
  const text = [
    `CPU seconds of the server per GiB: the least of ${rounds} rounds of ${count(bytes / 2 ** 20)} MiB.`,
    'The other server writes to disk with a SHA-256, and no more.',
    '',
    table(
      ['', 'upload', 'download'],
      [
        ...servers.map(({ name }, i) => [name, costs[i].up.toFixed(2), costs[i].down.toFixed(2)]),
        ['as a multiple', (ours.up / bare.up).toFixed(2), (ours.down / bare.down).toFixed(2)],
      ],
    ),
  ].join('\n')
  return {
    text,
    goals: [
      atMost(1, {
        name: 'upload, CPU as a multiple of bare',
        value: ours.up / bare.up,
        timeSpent: more('up'),
      }),
      atMost(1, {
        name: 'download, CPU as a multiple of bare',
        value: ours.down / bare.down,
        timeSpent: more('down'),
      }),
    ],
  }
}

const boundary = 'bench'
const block = Buffer.alloc(64 * 1024, 'platform')

export async function upload({ port, key }: Lane, bytes: number): Promise<string> {
  const before = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="bench.bin"\r\n\r\n`
  const after = `\r\n--${boundary}--\r\n`
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const call = request(
    {
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/storage/upload',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': before.length + bytes + after.length,
      },
    },
    (response) => {
      response
        .toArray()
        .then((chunks) => {
          if (response.statusCode !== 201)
            throw new Error(`the upload returned ${response.statusCode}: ${chunks.join('')}`)
          resolve(JSON.parse(chunks.join('')).id)
        })
        .catch(reject)
    },
  ).on('error', reject)
  call.write(before)
  for (let sent = 0; sent < bytes; sent += block.length) {
    if (!call.write(block.subarray(0, Math.min(block.length, bytes - sent))))
      await new Promise((resolve) => call.once('drain', resolve))
  }
  call.end(after)
  return await promise
}

async function download({ port, key }: Lane, id: string, bytes: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  request(
    {
      port,
      host: '127.0.0.1',
      path: `/v1/storage/files/${id}/download`,
      headers: { authorization: `Bearer ${key}` },
    },
    (response) => {
      let got = 0
      response.on('data', (chunk: Buffer) => {
        got += chunk.length
      })
      response.on('end', () =>
        got === bytes
          ? resolve()
          : reject(new Error(`${got} of ${bytes} bytes received, status ${response.statusCode}`)),
      )
    },
  )
    .on('error', reject)
    .end()
  await promise
}
