// The findings of a run: each kind of problem once per operation, with a curl command that reproduces it.
import type { CheckName, Problem } from './checks.ts'
import { encodingOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { encodeBody, fieldsOf, isAttachment } from './forms.ts'
import { keyHeader, withoutKey, type SentRequest } from './sender.ts'

export interface Finding extends Problem {
  operation: string
  /** The part of the run that found it. */
  part: string
  /** The number of occurrences. */
  times: number
  /** Sends the request again; keys are replaced by $KEY. */
  curl: string | null
}

export interface Case {
  operation: string
  part: string
  requests: number
}

export interface Findings {
  all: Finding[]
  /** Everything that was checked, with or without findings. */
  cases: Case[]
  add(operation: string, part: string, problem: Problem, answer: SentRequest | null): void
  recordCase(operation: string, part: string, requests: number): void
}

/** @param off the checks whose problems are no findings. */
export function createFindings(off: ReadonlyMap<CheckName, string> = new Map()): Findings {
  const found = new Map<string, Finding>()
  const cases = new Map<string, Case>()
  return {
    get all() {
      return [...found.values()]
    },
    get cases() {
      return [...cases.values()]
    },
    add(operation, part, problem, answer) {
      if (off.has(problem.check)) return
      const name = `${operation} ${problem.check} ${problem.expected.replace(/\d+/g, '0').slice(0, 60)}`
      const known = found.get(name)
      if (known !== undefined) known.times++
      else
        found.set(name, {
          ...problem,
          operation,
          part,
          times: 1,
          curl: answer === null ? null : curlOf(answer),
        })
    },
    recordCase(operation, part, requests) {
      const name = `${operation} ${part}`
      cases.set(name, { operation, part, requests: (cases.get(name)?.requests ?? 0) + requests })
    },
  }
}

/** The request as a POSIX shell command. Files are named, not included. */
export function curlOf({ operation, method, url: sent, parts, key }: SentRequest): string {
  const url = quoted(withoutKey(sent, key))
  const words = ['curl', '-i', ...(method === 'GET' ? [] : ['-X', method]), url]
  const header = (name: string, value: string): void => {
    words.push('-H', value.includes('$KEY') ? `"${name}: ${value}"` : quoted(`${name}: ${value}`))
  }
  for (const credential of key === null ? [] : operation.credentials) {
    const field = credential.scheme === 'basic' ? null : keyHeader(credential, '$KEY')
    if (field !== null) header(...field)
    else if (credential.in === 'header') words.push('-u', '"$KEY"')
  }
  for (const [name, value] of Object.entries(parts.headers)) header(name, value)
  if (parts.raw !== undefined) {
    if (parts.type !== undefined) header('Content-Type', parts.type)
    words.push('--data-binary', quoted(shortened(parts.raw.toString())))
  } else if (parts.type === 'multipart/form-data') {
    for (const { name, value, type } of fieldsOf(parts.body, encodingOf(operation, parts.type)))
      words.push(
        ...(isAttachment(value)
          ? ['-F', quoted(`${name}=@${value.filename};type=${value.type}`)]
          : type === undefined
            ? ['--form-string', quoted(`${name}=${value}`)]
            : ['-F', quoted(`${name}="${value.replace(/["\\]/g, '\\$&')}";type=${type}`)]),
      )
  } else if (parts.body !== undefined) {
    header('Content-Type', parts.type ?? 'application/json')
    words.push('--data-binary', quoted(bodyText(operation, parts.type, parts.body)))
  }
  return words.join(' ')
}

function bodyText(operation: Operation, type = 'application/json', body: Json): string {
  if (isAttachment(body)) return `@${body.filename}`
  return type === 'application/x-www-form-urlencoded'
    ? encodeBody(type, body, encodingOf(operation, type)).bytes.toString()
    : JSON.stringify(body)
}

function shortened(text: string): string {
  return text.length > 2000 ? `${text.slice(0, 2000)}…` : text
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
