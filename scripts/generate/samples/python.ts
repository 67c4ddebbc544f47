// Samples for operations that the Python client leaves out, with requests (https://requests.readthedocs.io).
import { fieldsOf, type Call } from './call.ts'

type Json = any

const indent = '    '

export function python(call: Call): string {
  const { operation, address, sends, receives, headers, body, file } = call
  const sent = {
    ...(operation.scopes !== null && { Authorization: '' }),
    ...headers,
    ...(sends === 'bytes' && { 'Content-Type': body!.type }),
  }
  const streams = receives === 'events' || receives === 'bytes'
  const rows = [
    `os.environ['PLATFORM_BASE_URL'] + ${literal(address)},`,
    ...(Object.keys(sent).length === 0 ? [] : [`headers={${headersOf(sent)}},`]),
    ...(sends === 'json' ? [`json=${literal(body!.value, indent)},`] : []),
    ...(sends === 'fields' ? [`data=${literal(body!.value, indent)},`] : []),
    ...(sends === 'form' ? [...dataOf(call), `files={${literal(operation.body!.form!.file)}: file},`] : []),
    ...(sends === 'bytes' ? ['data=file,'] : []),
    ...(sends === 'fields' || operation.responses.every(({ status }) => status >= 300)
      ? ['allow_redirects=False,']
      : []),
    ...(streams ? ['stream=True,'] : []),
    `timeout=${receives === 'events' ? '(10, 60)' : 60},`,
  ]
  const request = `requests.${operation.method}(\n${rows.map((row) => `${indent}${row}\n`).join('')})`
  const lines = streams
    ? [`with ${request} as response:`, ...within(readOf(call), indent)]
    : [`response = ${request}`, ...readOf(call)]
  const opened =
    sends === 'form' || sends === 'bytes'
      ? [`with open(${literal(file)}, 'rb') as file:`, ...within(lines, indent)]
      : lines
  return ['import os', 'import requests', '', ...opened].join('\n')
}

function headersOf(sent: Record<string, string | number>): string {
  const bearer = "'Bearer ' + os.environ['PLATFORM_API_KEY']"
  return Object.entries(sent)
    .map(([name, value]) => `${literal(name)}: ${name === 'Authorization' ? bearer : literal(String(value))}`)
    .join(', ')
}

function dataOf(call: Call): string[] {
  const fields = fieldsOf(call)
  return fields.length === 0
    ? []
    : [`data=[${fields.map(([name, value]) => `(${literal(name)}, ${literal(value)})`).join(', ')}],`]
}

function readOf({ receives, file }: Call): string[] {
  // The error is in the body, which `raise_for_status` does not show.
  const check = ['if not response.ok:', `${indent}raise SystemExit(response.text)`]
  if (receives === 'json') return [...check, 'print(response.json())']
  if (receives === 'text') return [...check, 'print(response.text)']
  if (receives === 'events')
    return [...check, 'for line in response.iter_lines(decode_unicode=True):', `${indent}print(line)`]
  if (receives === 'bytes')
    return [
      ...check,
      `with open(${literal(file)}, 'wb') as kept:`,
      `${indent}for chunk in response.iter_content(65536):`,
      `${indent}${indent}kept.write(chunk)`,
    ]
  return [...check, 'print(response.status_code)']
}

function within(lines: string[], by: string): string[] {
  return lines.flatMap((line) => line.split('\n')).map((line) => (line === '' ? '' : by + line))
}

/** The value as a Python literal, on several lines if it is long. */
function literal(value: Json, by = ''): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object') return String(value)
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item))
    : Object.entries(value).map(([name, item]) => `${literal(name)}: ${literal(item)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const short = open + parts.join(', ') + close
  return short.length <= 80
    ? short
    : `${open}\n${parts.map((part) => `${by}${indent}${part},\n`).join('')}${by}${close}`
}
