// Samples for the Python client.
import { pythonLiteral, pythonName, snakeCase } from '../python-types.ts'
import type { Call } from './call.ts'

type Json = any

const indent = '    '

/** @param method the name of the operation's method by resource. */
export function pythonClient(call: Call, method: string): string {
  const { sends, receives, list, file } = call
  const withFile = sends === 'form' || sends === 'bytes'
  const expression = pythonExpression(call, method)
  return [
    ...(withFile ? ['from pathlib import Path'] : []),
    'from platform_api import Client',
    '',
    'client = Client()',
    ...(list ? [`for item in ${expression}:`, `${indent}print(item)`] : readOf(receives, expression, file)),
  ].join('\n')
}

export function pythonExpression(call: Call, method: string): string {
  const name = method.split('.').map((part) => pythonName(snakeCase(part)))
  return `client.${name.join('.')}(${joined(argumentsOf(call))})`
}

/** The parameters of the path, the file of a body of bytes, then the fields by name. */
function argumentsOf(call: Call): string[] {
  const { operation, path, query, headers, body, sends, file } = call
  const form = operation.body?.form
  const fields: Array<[string, Json]> =
    sends === 'nothing' || sends === 'bytes' ? Object.entries(query) : Object.entries(body!.value)
  return [
    ...operation.pathParameters.map(({ name }) => pythonLiteral(path[name])),
    ...(sends === 'bytes' ? [opened(file)] : []),
    ...[...fields, ...Object.entries(headers)].map(([name, value]) =>
      named(name, sends === 'form' && name === form!.file ? opened(file) : pythonLiteral(value)),
    ),
  ]
}

const opened = (file: string): string => `Path(${pythonLiteral(file)})`

/** A name that Python reserves is passed in a dict. */
function named(name: string, value: string): string {
  const field = name.toLowerCase().replaceAll('-', '_')
  return pythonName(field) === field && /^\w+$/.test(field)
    ? `${field}=${value}`
    : `**{${pythonLiteral(name)}: ${value}}`
}

/** On several lines if they are long. */
function joined(values: string[]): string {
  const short = values.join(', ')
  return short.length <= 70 ? short : `\n${values.map((value) => `${indent}${value},\n`).join('')}`
}

function readOf(receives: Call['receives'], expression: string, file: string): string[] {
  if (receives === 'events')
    return [
      `with ${expression} as events:`,
      `${indent}for event in events:`,
      `${indent}${indent}print(event)`,
    ]
  if (receives === 'bytes')
    return [`with ${expression} as download:`, `${indent}download.save(${pythonLiteral(file)})`]
  if (receives === 'nothing') return [expression]
  return [`print(${expression})`]
}
