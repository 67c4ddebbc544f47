// Samples for the TypeScript client.
import type { Call } from './call.ts'

type Json = any

/** @param client the name of the client's package. */
export function typescript(call: Call, client: string): string {
  const { operation, path, query, headers, body, sends, receives, list, file } = call
  const withFile = sends === 'form' || sends === 'bytes'
  const parts = [
    ...(Object.keys(path).length > 0 ? [`path: ${literal(path)}`] : []),
    ...(Object.keys(query).length > 0 ? [`query: ${literal(query)}`] : []),
    ...(Object.keys(headers).length > 0 ? [`headers: ${literal(headers)}`] : []),
    ...(body === null ? [] : [`body: ${withFile ? fileBody(call) : literal(body.value)}`]),
  ]
  const short = `{ ${parts.join(', ')} }`
  const input =
    parts.length === 0
      ? ''
      : short.length <= 90 && !short.includes('\n')
        ? short
        : `{\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`).join(',\n')}\n}`
  const apiKey = operation.scopes === null ? '' : ', apiKey: process.env.PLATFORM_API_KEY!'
  const expression = `client.${operation.id}${list ? '.all' : ''}(${input})`
  return [
    ...(withFile ? ["import { openAsBlob } from 'node:fs'"] : []),
    ...(receives === 'bytes' ? ["import { writeFile } from 'node:fs/promises'"] : []),
    `import { createPlatformClient } from '${client}'`,
    '',
    `const client = createPlatformClient({ baseUrl: process.env.PLATFORM_URL!${apiKey} })`,
    ...(list
      ? [`for await (const item of ${expression}) console.log(item)`]
      : readOf(receives, expression, file)),
  ].join('\n')
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
  const opened = `await openAsBlob('${file}')`
  if (sends === 'bytes') return opened
  const { [operation.body!.form!.file]: _file, ...fields } = body!.value
  const inner = Object.entries(fields).map(([name, value]) => `${key(name)}: ${literal(value)}`)
  return `{ ${[...inner, `${key(operation.body!.form!.file)}: ${opened}`].join(', ')} }`
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
