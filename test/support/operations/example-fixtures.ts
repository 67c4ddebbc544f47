// The example requests of the contract with ids of existing resources, so that they can be sent.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { operations, type OperationId } from '../../../generated/operations.ts'
import { requestFor } from './operation-fixtures.ts'
import type { OperationRequest } from './operation-fixture.ts'
import type { Attachment } from '../http/form-body.ts'
import { catalogFor } from '../database/db-fixtures-payments.ts'
import type { TestServer } from '../server/server.ts'

type Json = any

export interface Example {
  request: {
    path: Record<string, string | number>
    query: Record<string, string | number>
    headers: Record<string, string | number>
    body: { type: string; value: Json } | null
  }
  replies: Record<string, Json>
  samples: Array<{ lang: string; label: string; source: string }>
}

const documentation = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../generated/docs.json'), 'utf8'),
) as {
  operations: Record<OperationId, Example>
  events: Array<{ type: string; example: Json }>
  errors: Json[]
}

/** The examples of each operation, as on the reference page. */
export const examples = documentation.operations
export const { events, errors } = documentation

/** The suffix of every id in the examples. */
const exampleSuffix = '01jd6y8m5qe8btc4y5w1r0n3fz'
const exampleToken = 'Jb0dG7pX2sYwQ4mKfZ8vN1cR6tH9uLeA3iBoEy5gPaU'

export interface ExampleFixture {
  /** The request that the contract tests would send. */
  ask: OperationRequest
  /** Replaces the ids of the examples by real ids. */
  replaced(text: string): string
  /** The file that an example sends. */
  file: Attachment
}

/** Creates the resources that the example request of the operation uses. */
export async function exampleFixtureFor(server: TestServer, id: OperationId): Promise<ExampleFixture> {
  const ask = await requestFor(server, id)
  const real = new Map<string, string>()
  const { product, price } = await catalogFor(server)
  for (const value of textsIn([ask.params, ask.query, ask.body, ask.project, price, product])) {
    const kind = /^([a-z]+)_[0-9a-hjkmnp-tv-z]{26}$/.exec(value)?.[1]
    if (kind !== undefined && !real.has(`${kind}_${exampleSuffix}`))
      real.set(`${kind}_${exampleSuffix}`, value)
  }
  if (ask.params?.token !== undefined) real.set(exampleToken, ask.params.token)
  if (ask.params?.feature !== undefined) real.set('projects', ask.params.feature)
  const example = examples[id].request.body?.value
  if (signInTags.includes(operations[id].tag)) addSecrets(real, example, ask.body)
  const attached = Object.values(ask.body ?? {}).find(
    (value): value is Attachment => (value as Attachment | null)?.bytes instanceof Uint8Array,
  )
  return {
    ask,
    replaced: (text) => [...real].reduce((so, [from, to]) => so.replaceAll(from, to), text),
    file: attached ?? {
      filename: 'report.pdf',
      type: 'application/pdf',
      bytes: ask.bytes ?? Buffer.from('What is reported\n'),
    },
  }
}

const signInTags = ['auth', 'passkeys', 'sign-in-pages', 'account-pages']

/** Tokens that were sent by e-mail, addresses, passwords, and the answers of devices. */
function addSecrets(real: Map<string, string>, example: Json, body: Json): void {
  for (const [name, value] of Object.entries<Json>(body ?? {}))
    if (typeof value === 'object') addSecrets(real, example?.[name], value)
    else if (typeof example?.[name] === 'string') real.set(example[name], value)
}

/** The example request of the operation with real ids. */
export async function exampleRequest(server: TestServer, id: OperationId): Promise<OperationRequest> {
  const { ask, replaced, file } = await exampleFixtureFor(server, id)
  const { path, query, headers, body } = JSON.parse(
    replaced(JSON.stringify(examples[id].request)),
  ) as Example['request']
  const texts = (values: Record<string, string | number>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
  const bytes = body !== null && body.value === null ? Buffer.from(file.bytes) : undefined
  const fields =
    body === null || body.value === null
      ? undefined
      : body.type === 'multipart/form-data'
        ? { ...body.value, file: { ...file, filename: body.value.file } }
        : body.value
  return {
    id,
    server: ask.server,
    caller: ask.caller,
    params: texts(path),
    query: texts(query),
    headers: texts(headers),
    body: fields,
    bytes,
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.values(value).flatMap(textsIn)
}
