// The mock returns every declared status of every operation with a valid response.
import { resolve } from 'node:path'
import Fastify from 'fastify'
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import { readContract } from '../../scripts/generate/contract.ts'
import { resolve as follow } from '../../packages/openapi/resolve.ts'
import { preferenceOf, valueOf } from '../../packages/mock/answers.ts'
import { withExamples } from '../../packages/mock/patterns.ts'
import { createMock } from '../../packages/mock/server.ts'
import { profile } from '../../scripts/profiles/mock.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { isLongForm } from '../support/long-form.ts'
import { assertMatchesSpec } from '../support/http/client.ts'

const document: any = withExamples(
  await readContract(resolve(import.meta.dirname, '../../spec/openapi.yaml')),
)
const lines: string[] = []
const mock = await createMock({ document, profile, onAnswer: (line) => lines.push(line) })
t.teardown(() => mock.close())
const address = await mock.listen({ host: '127.0.0.1', port: 0 })

const declaredOf = ({ path, method }: OperationInfo): any =>
  document.paths[path.replace(/^\/v1/, '')][method.toLowerCase()]

/** A valid request, generated from the schemas. */
function requestOf(info: OperationInfo): { url: string; init: RequestInit } {
  const item = document.paths[info.path.replace(/^\/v1/, '')]
  const parameters = [...(item.parameters ?? []), ...(declaredOf(info).parameters ?? [])].map((p: any) =>
    follow(document, p),
  )
  const sampled = (p: any): string => String(valueOf(document, p.schema))
  const path = parameters
    .filter((p: any) => p.in === 'path')
    .reduce((text: string, p: any) => text.replace(`{${p.name}}`, encodeURIComponent(sampled(p))), info.path)
  const query = new URLSearchParams(
    parameters
      .filter((p: any) => p.in === 'query' && p.required)
      .map((p: any): [string, string] => [p.name, sampled(p)]),
  )
  const headers: Record<string, string> = { authorization: 'Bearer plat_test_any' }
  for (const p of parameters)
    if (p.in === 'header' && p.required)
      headers[p.name] = p.schema.pattern ? 'sha256 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' : sampled(p)
  const content = follow(document, declaredOf(info).requestBody)?.content ?? {}
  const [type, media]: [string, any] = (Object.entries(content)[0] as never) ?? ['', null]
  if (type !== '')
    headers['content-type'] = type === 'multipart/form-data' ? 'multipart/form-data; boundary=b' : type
  const body =
    type === 'application/json'
      ? JSON.stringify(valueOf(document, media.schema))
      : type === ''
        ? undefined
        : 'bytes'
  return {
    url: `${address}${path}${query.size > 0 ? `?${query}` : ''}`,
    init: { method: info.method, headers, body, redirect: 'manual' },
  }
}

const errorsSeen = new Set<string>()

/** In the short form, an error only of the first operation with this status, type and schema. */
function statusesOf({ replies }: OperationInfo): number[] {
  return Object.keys(replies)
    .map(Number)
    .filter((status) => {
      const kind = JSON.stringify([status, replies[status]])
      if (status >= 400 && !isLongForm && errorsSeen.has(kind)) return false
      errorsSeen.add(kind)
      return true
    })
}

for (const [id, info] of Object.entries(operations) as Array<[OperationId, OperationInfo]>) {
  t.test(`${id} returns every declared status`, async (t) => {
    const { url, init } = requestOf(info)
    for (const status of statusesOf(info)) {
      const response = await fetch(url, { ...init, headers: { ...init.headers, prefer: `code=${status}` } })
      t.equal(response.status, status, `${id} ${status}`)
      const text = await response.text()
      const json = response.headers.get('content-type')?.startsWith('application/json') === true
      t.doesNotThrow(
        () => assertMatchesSpec(id, status, response.headers, json ? JSON.parse(text) : text),
        `${id} ${status}: ${text.slice(0, 300)}`,
      )
    }
  })
}

t.test('an error says whether the key is missing or another one', async (t) => {
  const own = await createMock({ document, profile, key: 'right' })
  t.teardown(() => own.close())
  for (const [headers, reason] of [
    [{}, 'missing'],
    [{ authorization: 'Bearer wrong' }, 'unknown'],
  ] as const) {
    const answer = await own.inject({ method: 'GET', url: '/v1/projects', headers })
    t.equal(answer.statusCode, 401)
    t.match(answer.json(), {
      error: { message: 'The credentials are missing or invalid.', details: { reason } },
    })
  }
})

t.test('the mock rejects a missing key, an invalid body and an undeclared status', async (t) => {
  t.equal((await fetch(`${address}/v1/projects`)).status, 401)
  const wrong = await fetch(`${address}/v1/projects`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: '{"name": 1, "x": 2}',
  })
  t.equal(wrong.status, 400)
  t.match(await wrong.json(), {
    error: {
      code: 'INVALID_REQUEST',
      details: { errors: [{ constraint: 'additionalProperties' }, { field: 'name' }] },
    },
  })
  const within = await fetch(`${address}/v1/payments/orders`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: '{"items": [{"quantity": 0}]}',
  })
  t.same(
    ((await within.json()) as any).error.details.errors,
    [
      {
        field: 'items[0].price_id',
        constraint: 'required',
        message: 'items[0].price_id is required',
        location: 'body',
      },
      {
        field: 'items[0].quantity',
        constraint: 'minimum',
        message: 'items[0].quantity must be at least 1',
        location: 'body',
      },
    ],
    'the messages are those of the server',
  )
  const undeclared = await fetch(`${address}/v1/projects`, {
    headers: { authorization: 'Bearer x', prefer: 'code=299' },
  })
  t.match([undeclared.status, await undeclared.json()], [400, { error: { details: { field: 'Prefer' } } }])
  t.equal((await fetch(`${address}/v1/nothing`)).status, 404)
  t.equal((await fetch(`${address}/v1/projects`, { method: 'DELETE' })).status, 405)
})

t.test('the Prefer header is parsed as in RFC 7240', async (t) => {
  t.same(preferenceOf('code=404, example="not there"; wait=10'), { code: 404, example: 'not there' })
  t.same(preferenceOf(undefined), {})
  t.same(preferenceOf('code=abc'), {})
})

t.test('operations of a real server are forwarded', async (t) => {
  const real = Fastify()
  t.teardown(() => real.close())
  real.get('/openapi.json', async () => ({ paths: { '/healthz': { get: { operationId: 'getHealth' } } } }))
  real.get('/healthz', async () => ({ status: 'real' }))
  const beside = await createMock({
    document,
    profile,
    real: await real.listen({ host: '127.0.0.1', port: 0 }),
  })
  t.teardown(() => beside.close())
  const at = await beside.listen({ host: '127.0.0.1', port: 0 })
  t.same(await (await fetch(`${at}/healthz`)).json(), { status: 'real' })
  t.match(await (await fetch(`${at}/readyz`)).json(), { status: 'ok' })
})
