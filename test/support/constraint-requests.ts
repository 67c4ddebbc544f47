// The requests that break one constraint each: a valid request of the operation, as the contract tests have it, with one
// value in it that is not allowed.
import { contentOf } from './operation-fixtures.ts'
import type { Ask } from './operation-fixture.ts'
import { fieldsType, formOf, formType } from './contract-form.ts'
import { createClient, type Client, type Reply } from './client.ts'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Part } from './constraint-sites.ts'

type Json = any

/** What the valid request has in this part. */
export function givenIn(ask: Ask, part: Part): Json {
  if (part === 'path') return ask.params ?? {}
  if (part === 'query') return ask.query ?? {}
  if (part === 'header')
    return Object.fromEntries(
      Object.entries(ask.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    )
  if (part === 'form') {
    const { [operations[ask.id].body!.form!.file]: _file, ...fields } = ask.body ?? {}
    return fields
  }
  return ask.body
}

export type Send = (ask: Ask, part: Part, value: Json) => Promise<Reply>

/** Sends requests with another value in one of their parts. */
export function createSender(url: string): Send {
  const clients = new Map<string, Client>()
  const clientOf = (key: string): Client => {
    if (!clients.has(key)) clients.set(key, createClient(url, key))
    return clients.get(key)!
  }
  return async (ask, part, value) => {
    const { method, path } = operations[ask.id]
    const params = part === 'path' ? value : (ask.params ?? {})
    const query = entriesOf(part === 'query' ? value : (ask.query ?? {}))
    const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(params[name]))
    const content =
      part === 'body' || part === 'form' || part === 'fields' ? contentWith(ask, part, value) : contentOf(ask)
    const headers = {
      ...(content && { 'content-type': content.type }),
      ...(part === 'header' ? value : ask.headers),
    }
    return await clientOf(ask.caller.key).call(method, query.size === 0 ? filled : `${filled}?${query}`, {
      headers,
      ...(content && { raw: content.raw }),
    })
  }
}

function contentWith(
  ask: Ask,
  part: 'body' | 'form' | 'fields',
  value: Json,
): { raw: string | Uint8Array<ArrayBuffer>; type: string } | undefined {
  const info = (operations[ask.id] as OperationInfo).body!
  if (value === undefined) return undefined
  if (part === 'form')
    return {
      raw: formOf(info.form!, { ...value, [info.form!.file]: ask.body?.[info.form!.file] }),
      type: formType,
    }
  if (part === 'fields') return { raw: entriesOf(value).toString(), type: fieldsType }
  return { raw: JSON.stringify(value), type: 'application/json' }
}

/** What is a list is there several times. */
function entriesOf(value: Json): URLSearchParams {
  return new URLSearchParams(
    Object.entries<Json>(value).flatMap(([name, each]) =>
      [each].flat().map((text): [string, string] => [name, text]),
    ),
  )
}
