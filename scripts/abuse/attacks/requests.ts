// Attacks of one user with several keys on what every request uses: connections, validation, lists, rows.
import { randomUUID } from 'node:crypto'
import { statement } from '../../../infra/database/statements.ts'
import { made } from '../client.ts'
import { attack, repeat, type Attack } from '../attack.ts'

const limit = '429 rate_limit'
const atOnceLimit = '429 max_open'

/** Bodies of about `bytes` with as many mistakes as possible, and where they are sent. */
function hostileBodies(bytes: number): Array<[path: string, body: string]> {
  const numbers = repeat(bytes / 14, (i) => `"k${i}":${i}`, ',')
  return [
    ['/v1/projects', `{"name":"a","metadata":{${numbers}}}`],
    ['/v1/projects', `{"name":"a",${numbers}}`],
    ['/v1/projects', `{"name":"a","tags":[${repeat(bytes / 3, () => '""', ',')}]}`],
    ['/v1/user/api-keys', `{"name":"a","scopes":[${repeat(bytes / 3, () => '{}', ',')}]}`],
    ['/v1/ai/chat', `{"messages":[${repeat(bytes / 3, () => '{}', ',')}]}`],
    ['/v1/projects', `{"name":"a","metadata":${'{"a":'.repeat(bytes / 10)}1${'}'.repeat(bytes / 10)}}`],
  ]
}

const bodyAnswers = [
  '400 maxProperties',
  '400 additionalProperties',
  '400 maxItems',
  '400 max_depth',
  '400 max_values',
  '413 max_bytes',
  limit,
  atOnceLimit,
]

function bodies(name: string, bytes: number): Attack {
  return attack({
    name,
    does: 'bodies with as many mistakes as fit: fields, items, depth',
    atOnce: 16,
    prepare: async () => hostileBodies(bytes),
    async send({ client, key }, all, i) {
      const [path, body] = all[i % all.length]
      const headers = { 'content-type': 'application/json' }
      return (await client.send('POST', path, { key: key(), body, headers })).label
    },
    answers: bodyAnswers,
    limit,
    cpuMs: 60,
  })
}

/** Files without content, which lists do not read. */
const addFiles = statement(`
  INSERT INTO files
    (id, owner_id, workspace_id, name, path, content_type, bytes, sha256, metadata, tags, blob_key,
    created_at, updated_at)
  SELECT id, $1, $1, 'name-' || n || '.png', 'folder/' || n % 100, 'image/png', n, repeat('0', 64),
    '{"team":"abuse"}', ARRAY['abuse'], id, at, at
  FROM (SELECT n, 'file_' || lpad(n::text, 10, '0') || right($1, 16) AS id,
      '2026-01-01'::timestamptz + n * interval '1 second' AS at
    FROM generate_series(1, $2::int) n) r`)

const deepLists = [
  '/v1/storage/files?page=1000000&limit=100',
  '/v1/storage/files?page=190&limit=100&sort=name&order=asc',
  `/v1/storage/files?q=${'%25a'.repeat(30)}`,
  `/v1/storage/files?q=${encodeURIComponent('name_%\\')}&sort=name`,
  `/v1/storage/files?${repeat(8, (i) => `metadata[key${i}]=${'v'.repeat(500)}`, '&')}`,
  '/v1/storage/files?metadata[team]=abuse&sort=updated_at&limit=100',
  `/v1/storage/files?cursor=${'A'.repeat(3_000)}`,
  '/v1/events?limit=100&order=desc&type=project.*&type=file.*',
]

export const requestAttacks: Attack[] = [
  attack({
    name: 'reads at once',
    does: 'lists on 128 connections',
    atOnce: 128,
    send: async ({ client, key }) => (await client.send('GET', '/v1/projects', { key: key() })).label,
    answers: ['200', limit, atOnceLimit],
    limit,
    cpuMs: 10,
  }),
  attack({
    name: 'writes at once',
    does: 'new projects on 128 connections',
    atOnce: 128,
    send: async ({ client, key }, _, i) =>
      (await client.send('POST', '/v1/projects', { key: key(), json: { name: `Project ${i}` } })).label,
    answers: ['201', '403 projects', limit, atOnceLimit],
    limit,
    cpuMs: 30,
  }),
  attack({
    name: 'one row',
    does: 'changes of one project on 128 connections, which wait for its lock',
    atOnce: 128,
    prepare: async ({ client, key }) =>
      made(await client.send('POST', '/v1/projects', { key: key(), json: { name: 'Hot' } })).id as string,
    send: async ({ client, key }, id, i) =>
      (
        await client.send('PATCH', `/v1/projects/${id}`, {
          key: key(),
          json: {
            description: `${i} ${'d'.repeat(4_900)}`,
            metadata: Object.fromEntries(Array.from({ length: 16 }, (_, k) => [`k${k}`, 'v'.repeat(500)])),
          },
        })
      ).label,
    answers: ['200', limit, atOnceLimit],
    limit,
    cpuMs: 30,
  }),
  bodies('bodies of 64 KiB', 63 * 1024),
  bodies('bodies of 1 MiB', 1023 * 1024),
  attack({
    name: 'deep lists',
    does: 'last pages, patterns, filters and broken cursors on 20,000 files',
    atOnce: 16,
    prepare: async ({ target, attacker }) => {
      await target.database.sql(addFiles, [attacker.id, 20_000])
    },
    send: async ({ client, key }, _, i) =>
      (await client.send('GET', deepLists[i % deepLists.length], { key: key() })).label,
    answers: ['200', '400 cursor', '400 format', '400 maxLength', '400 pattern', limit, atOnceLimit],
    cpuMs: 30,
  }),
  attack({
    name: 'new keys',
    does: 'keys that make keys',
    atOnce: 16,
    prepare: async ({ attacker }) => [...attacker.keys],
    async send({ client }, keys, i) {
      const json = { name: `key ${i}`, scopes: ['keys:write', 'projects:read'] }
      const { label, body } = await client.send('POST', '/v1/user/api-keys', {
        key: keys[i % keys.length],
        json,
      })
      if (label === '201') keys.push(body.key)
      return label
    },
    answers: ['201', '403 api_keys', limit, atOnceLimit],
    limit,
    cpuMs: 30,
  }),
  attack({
    name: 'idempotency keys',
    does: 'one Idempotency-Key many times at once, then the next one',
    atOnce: 64,
    prepare: async () => randomUUID(),
    send: async ({ client, key }, id, i) =>
      (
        await client.send('POST', '/v1/projects', {
          key: key(),
          json: { name: 'Once', metadata: { text: 'v'.repeat(500) } },
          headers: { 'idempotency-key': `${id}-${Math.floor(i / 32)}` },
        })
      ).label,
    answers: ['201', '409 in_progress', '403 projects', limit, atOnceLimit],
    limit,
    cpuMs: 30,
  }),
]
