// Samples for the TypeScript client.
import type { Call } from './call.ts'

type Json = any

export interface ClientMethod {
  /** The name of the client's npm package. */
  client: string
  /** The name of the operation's method by resource, if it has one. */
  method: string | undefined
}

/** The client reads the URL and the key from the environment. */
export function typescript(call: Call, { client, method }: ClientMethod): string {
  const { sends, receives, list, file } = call
  const withFile = sends === 'form' || sends === 'bytes'
  const expression =
    method === undefined
      ? `client.${call.operation.id}(${flatInput(call)})`
      : typescriptExpression(call, method)
  const names = withFile ? 'createPlatformClient, fileFrom' : 'createPlatformClient'
  return [
    ...(receives === 'bytes' ? ["import { writeFile } from 'node:fs/promises'"] : []),
    `import { ${names} } from '${client}'`,
    '',
    'const client = createPlatformClient()',
    ...(list
      ? [`for await (const item of ${expression}) console.log(item)`]
      : readOf(receives, expression, file)),
  ].join('\n')
}

export function typescriptExpression(call: Call, method: string): string {
  return `client.${method}(${joined(positional(call))})`
}

/** The parameters of the path, the body or the query, and the headers. */
function positional(call: Call): string[] {
  const { operation, path, query, headers } = call
  const hasHeaders = Object.keys(headers).length > 0
  const input = inputOf(call) ?? (Object.keys(query).length > 0 ? literal(query) : undefined)
  const takesInput = operation.body !== null || operation.queryParameters.length > 0
  return [
    ...operation.pathParameters.map(({ name }) => literal(path[name])),
    ...(input !== undefined ? [input] : takesInput && hasHeaders ? ['undefined'] : []),
    ...(hasHeaders ? [`{ headers: ${literal(headers)} }`] : []),
  ]
}

/** On several lines if they are long; an object stays with its parentheses if it is the only one. */
function joined(values: string[]): string {
  const short = values.join(', ')
  if (short.length <= 70 || values.length === 1) return short
  return `\n${values.map((value) => `  ${value.replaceAll('\n', '\n  ')}`).join(',\n')}\n`
}

function flatInput(call: Call): string {
  const { path, query, headers } = call
  const body = inputOf(call)
  const parts = [
    ...(Object.keys(path).length > 0 ? [`path: ${literal(path)}`] : []),
    ...(Object.keys(query).length > 0 ? [`query: ${literal(query)}`] : []),
    ...(Object.keys(headers).length > 0 ? [`headers: ${literal(headers)}`] : []),
    ...(body === undefined ? [] : [`body: ${body}`]),
  ]
  return parts.length === 0 ? '' : `{ ${parts.join(', ')} }`
}

function inputOf(call: Call): string | undefined {
  if (call.body === null) return undefined
  return call.sends === 'form' || call.sends === 'bytes' ? fileBody(call) : literal(call.body.value)
}

function readOf(receives: Call['receives'], expression: string, file: string): string[] {
  if (receives === 'events')
    return [`for await (const { event, data } of ${expression}) {`, '  console.log(event, data)', '}']
  if (receives === 'bytes')
    return [`const response = await ${expression}`, `await writeFile('${file}', response.body!)`]
  if (receives === 'nothing') return [`await ${expression}`]
  return [`console.log(await ${expression})`]
}

function fileBody({ sends, operation, body, file }: Call): string {
  const opened = `await fileFrom('${file}')`
  if (sends === 'bytes') return opened
  const { [operation.body!.form!.file]: _file, ...fields } = body!.value
  const inner = Object.entries(fields).map(([name, value]) => `${key(name)}: ${literal(value)}`)
  const parts = [...inner, `${key(operation.body!.form!.file)}: ${opened}`]
  const short = `{ ${parts.join(', ')} }`
  return short.length <= 80 ? short : `{\n${parts.map((part) => `  ${part}`).join(',\n')}\n}`
}

/** The value as a TypeScript literal, on several lines if it is long. */
function literal(value: Json): string {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Array.isArray(value)
    ? value.map(literal)
    : Object.entries(value).map(([name, item]) => `${key(name)}: ${literal(item)}`)
  const short = Array.isArray(value)
    ? `[${parts.join(', ')}]`
    : parts.length === 0
      ? '{}'
      : `{ ${parts.join(', ')} }`
  if (short.length <= 80) return short
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close}`
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`
}
