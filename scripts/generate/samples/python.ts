// An operation called from Python with requests (https://requests.readthedocs.io), which streams what is long and closes what it opened.
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
    `os.environ['PLATFORM_URL'] + ${escapeLike(address)},`,
    ...(Object.keys(sent).length === 0
      ? []
      : [
          `headers={${Object.entries(sent)
            .map(
              ([name, value]) =>
                `${escapeLike(name)}: ${name === 'Authorization' ? "'Bearer ' + os.environ['PLATFORM_API_KEY']" : escapeLike(String(value))}`,
            )
            .join(', ')}},`,
        ]),
    ...(sends === 'json' ? [`json=${escapeLike(body!.value, indent)},`] : []),
    ...(sends === 'fields' ? [`data=${escapeLike(body!.value, indent)},`] : []),
    ...(sends === 'form' ? [...dataOf(call), `files={${escapeLike(operation.body!.form!.file)}: file},`] : []),
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
      ? [`with open(${escapeLike(file)}, 'rb') as file:`, ...within(lines, indent)]
      : lines
  return ['import os', 'import requests', '', ...opened].join('\n')
}

function dataOf(call: Call): string[] {
  const fields = fieldsOf(call)
  return fields.length === 0
    ? []
    : [`data=[${fields.map(([name, value]) => `(${escapeLike(name)}, ${escapeLike(value)})`).join(', ')}],`]
}

function readOf({ receives, file }: Call): string[] {
  const first = 'response.raise_for_status()'
  if (receives === 'json') return [first, 'print(response.json())']
  if (receives === 'text') return [first, 'print(response.text)']
  if (receives === 'events')
    return [first, 'for line in response.iter_lines(decode_unicode=True):', `${indent}print(line)`]
  if (receives === 'bytes')
    return [
      first,
      `with open(${escapeLike(file)}, 'wb') as kept:`,
      `${indent}for chunk in response.iter_content(65536):`,
      `${indent}${indent}kept.write(chunk)`,
    ]
  return [first, 'print(response.status_code)']
}

function within(lines: string[], by: string): string[] {
  return lines.flatMap((line) => line.split('\n')).map((line) => (line === '' ? '' : by + line))
}

/** The value as Python writes it, over several lines where it is long. */
function escapeLike(value: Json, by = ''): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object') return String(value)
  const parts = Array.isArray(value)
    ? value.map((item) => escapeLike(item))
    : Object.entries(value).map(([name, item]) => `${escapeLike(name)}: ${escapeLike(item)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const short = open + parts.join(', ') + close
  return short.length <= 80
    ? short
    : `${open}\n${parts.map((part) => `${by}${indent}${part},\n`).join('')}${by}${close}`
}
