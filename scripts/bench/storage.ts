// Benchmark of files: upload and download compared with a minimal Fastify server that only writes and
// hashes, and the list of files for few and for many files.
import { mkdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { serve } from './serve.ts'
import { openLoad } from './load.ts'
import { addFiles, addPeople, createDatabase } from './population.ts'
import type { Program, Stage } from './stage.ts'
import { count, table } from './table.ts'

const here = import.meta.dirname
const main = join(here, '../../app/main.ts')
const gibibyte = 2 ** 30

export interface StorageSizes {
  rounds: number
  bytes: number
  files: number[]
  seconds: number
}

export async function benchStorage(stage: Stage, sizes: StorageSizes): Promise<string> {
  return `${await benchTransfers(stage, sizes)}\n\n${await benchLists(stage, sizes)}`
}

interface Server {
  name: string
  program: Program
  port: number
  key: string
  up: number
  down: number
}

async function benchTransfers(stage: Stage, { rounds, bytes }: StorageSizes): Promise<string> {
  const url = await createDatabase((await stage.postgres()).url, 'bench_storage')
  const [person] = await addPeople(url, ['uploader'])
  const servers: Server[] = []
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
      up: Infinity,
      down: Infinity,
    })
  }
  for (let round = -1; round < rounds; round++) {
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
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
      if (round < 0) continue
      server.up = Math.min(server.up, ((between - before) * gibibyte) / bytes)
      server.down = Math.min(server.down, ((after - between) * gibibyte) / bytes)
    }
  }
  for (const [i, { program }] of servers.entries()) {
    await program.stop()
    rmSync(join(stage.folder, `files-${i}`), { recursive: true })
  }
  const [ours, bare] = servers
  return [
    'CPU seconds of the server per GiB: ' +
      `the minimum of ${rounds} rounds of ${count(bytes / 2 ** 20)} MiB each.`,
    '',
    table(
      ['', 'upload', 'download'],
      [
        ...servers.map(({ name, up, down }) => [name, up.toFixed(2), down.toFixed(2)]),
        ['as a multiple', (ours.up / bare.up).toFixed(2), (ours.down / bare.down).toFixed(2)],
      ],
    ),
  ].join('\n')
}

const boundary = 'bench'
const block = Buffer.alloc(64 * 1024, 'platform')

async function upload({ port, key }: Server, bytes: number): Promise<string> {
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

async function download({ port, key }: Server, id: string, bytes: number): Promise<void> {
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

const lists: Record<string, string> = {
  'first page': '',
  'by name': '?sort=name&order=asc',
  'page 40': '?page=40',
  'by folder': '?path=folder%2F7',
  'by type': '?content_type=image%2Fpng',
  search: '?q=name-123',
}

interface Listed {
  files: number
  program: Program
  port: number
  key: string
  best: Record<string, number>
}

async function benchLists(stage: Stage, { files: sizes, rounds, seconds }: StorageSizes): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const all: Listed[] = []
  for (const files of sizes) {
    const url = await createDatabase(serverUrl, `bench_files_${files}`)
    const [person] = await addPeople(url, ['owner'])
    await addFiles(url, dataDir, person, files)
    all.push({
      files,
      ...(await serve(stage, String(files), main, {
        DATABASE_URL: url,
        STORAGE_DIR: join(stage.folder, 'no-files'),
      })),
      key: person.key,
      best: {},
    })
  }
  for (const [list, query] of Object.entries(lists)) {
    for (let round = -1; round < rounds; round++) {
      for (const { port, key, best } of all) {
        const load = await openLoad({
          port,
          connections: 1,
          status: 200,
          next: () => ({ method: 'GET', path: `/v1/storage/files${query}`, key }),
        })
        const before = performance.now()
        const requests = await load.fire({ seconds, requests: 100_000 })
        const time = (performance.now() - before) / 1000 / requests
        load.close()
        if (round >= 0) best[list] = Math.min(best[list] ?? Infinity, time)
      }
    }
  }
  for (const { program } of all) await program.stop()
  const [first, last] = [all[0], all[all.length - 1]]
  return [
    `GET /v1/storage/files, a page of 20 with the exact total, one request at a time: ` +
      `µs, the best of ${rounds} rounds of ${seconds} s each.`,
    '',
    table(
      ['', ...all.map(({ files }) => `${count(files)} files`), 'growth'],
      Object.keys(lists).map((list) => [
        list,
        ...all.map(({ best }) => count(best[list] * 1e6)),
        (last.best[list] / first.best[list]).toFixed(2),
      ]),
    ),
  ].join('\n')
}
