// Writes into each operation the error responses that x-implied-responses derives from what it declares, and into one whose answers are pages
// that its errors are, too, to a browser.
import { methods } from './methods.ts'
import { resolve } from './resolve.ts'

type Json = any

interface Declared {
  document: Json
  operation: Json
  method: string
  parameters: Json[]
}

const takes =
  (name: string) =>
  ({ parameters }: Declared): boolean =>
    parameters.some((p) => p.name === name)
/** Whether an Idempotency-Key makes a difference. */
const storesAnswer = (declared: Declared): boolean =>
  takes('Idempotency-Key')(declared) && declared.operation['x-idempotency'] !== 'anew'
const hasBody = ({ operation }: Declared): boolean => operation.requestBody !== undefined

/** When each group of x-implied-responses holds for an operation. */
export const conditions: Record<string, (declared: Declared) => boolean> = {
  every: () => true,
  answer: ({ document, operation }) =>
    Object.entries<Json>(operation.responses).some(
      ([status, r]) => status < '300' && resolve(document, r).content !== undefined,
    ),
  secured: ({ document, operation }) => (operation.security ?? document.security ?? []).length > 0,
  // Whether the operation takes a body or not: a client may send one.
  body: ({ method }) => method !== 'get' && method !== 'options',
  resource: ({ parameters }) => parameters.some((p) => p.in === 'path'),
  idempotent: storesAnswer,
  'idempotent-body': (declared) => storesAnswer(declared) && hasBody(declared),
  'conditional-read': takes('If-None-Match'),
  'conditional-write': takes('If-Match'),
}

/** Changes `document`. A response that the operation declares itself stays as it is. */
export function addImpliedResponses(document: Json): void {
  const implied = Object.entries<Record<string, string>>(document['x-implied-responses'] ?? {})
  for (const path of Object.values<Json>(document.paths)) {
    for (const method of methods) {
      const operation = path[method]
      if (!operation) continue
      const parameters = [...(path.parameters ?? []), ...(operation.parameters ?? [])].map((p) =>
        resolve(document, p),
      )
      const all: Record<string, Json> = {}
      for (const [when, responses] of implied) {
        if (!conditions[when]({ document, operation, method, parameters })) continue
        for (const [status, name] of Object.entries(responses))
          all[status] = { $ref: `#/components/responses/${name}` }
      }
      Object.assign(all, operation.responses)
      const shown = answersPages(document, operation)
        ? (response: Json): Json => withPage(document, response)
        : (response: Json): Json => response
      operation.responses = Object.fromEntries(
        Object.keys(all)
          .sort()
          .map((status) => [status, shown(all[status])]),
      )
    }
  }
}

function answersPages(document: Json, { responses }: Json): boolean {
  return Object.values<Json>(responses).some(
    (response) => resolve(document, response).content?.['text/html'] !== undefined,
  )
}

function withPage(document: Json, response: Json): Json {
  const { content, ...rest } = resolve(document, response)
  return content?.['application/json'] === undefined
    ? response
    : { ...rest, content: { ...content, 'text/html': { schema: { type: 'string' } } } }
}
