// Sends negative cases: the fixture's valid request with one part replaced by an invalid value.
import { fieldsType, formOf, formType } from '../http/form-body.ts'
import { encodedBody } from '../operations/operation-fixtures.ts'
import type { OperationRequest } from '../operations/operation-fixture.ts'
import { createClient, type Client, type Reply } from '../http/client.ts'
import { operations } from '../../../generated/operations.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Part } from './constraint-sites.ts'

type Json = any

/** The valid value of this part of the request. */
export function valueOfPart(request: OperationRequest, part: Part): Json {
  if (part === 'path') return request.params ?? {}
  if (part === 'query') return request.query ?? {}
  if (part === 'header')
    return Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    )
  if (part === 'form') {
    const { [operations[request.id].body!.form!.file]: _file, ...fields } = request.body ?? {}
    return fields
  }
  return request.body
}

export type SendPart = (request: OperationRequest, part: Part, value: Json) => Promise<Reply>

/** Returns a function that sends a request with one part replaced. */
export function createSender(url: string): SendPart {
  const clients = new Map<string, Client>()
  const clientOf = (key: string): Client => {
    if (!clients.has(key)) clients.set(key, createClient(url, key))
    return clients.get(key)!
  }
  return async (request, part, value) => {
    const { method, path } = operations[request.id]
    const params = part === 'path' ? value : (request.params ?? {})
    const query = entriesOf(part === 'query' ? value : (request.query ?? {}))
    const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(params[name]))
    const content =
      part === 'body' || part === 'form' || part === 'fields'
        ? encodedBodyWith(request, part, value)
        : encodedBody(request)
    const headers = {
      ...(content && { 'content-type': content.type }),
      ...(part === 'header' ? value : request.headers),
    }
    return await clientOf(request.caller.key).call(method, query.size === 0 ? filled : `${filled}?${query}`, {
      headers,
      ...(content && { raw: content.raw }),
    })
  }
}

function encodedBodyWith(
  request: OperationRequest,
  part: 'body' | 'form' | 'fields',
  value: Json,
): { raw: string | Uint8Array<ArrayBuffer>; type: string } | undefined {
  const info = (operations[request.id] as OperationInfo).body!
  if (value === undefined) return undefined
  if (part === 'form')
    return {
      raw: formOf(info.form!, { ...value, [info.form!.file]: request.body?.[info.form!.file] }),
      type: formType,
    }
  if (part === 'fields') return { raw: entriesOf(value).toString(), type: fieldsType }
  return { raw: JSON.stringify(value), type: 'application/json' }
}

/** Query or form entries. A list becomes one entry per item, and an object one entry per key: `name[key]`. */
function entriesOf(value: Json): URLSearchParams {
  return new URLSearchParams(
    Object.entries<Json>(value).flatMap(([name, each]): Array<[string, string]> =>
      typeof each === 'object' && !Array.isArray(each)
        ? Object.entries<string>(each).map(([key, text]) => [`${name}[${key}]`, text])
        : [each].flat().map((text) => [name, text]),
    ),
  )
}
