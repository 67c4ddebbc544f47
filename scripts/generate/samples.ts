// Code samples for the reference page: the example request of each operation in several languages.
import type { Operation } from './model.ts'
import { callOf } from './samples/call.ts'
import { curl } from './samples/curl.ts'
import { python } from './samples/python.ts'
import { pythonClient } from './samples/python-client.ts'
import { typescript, type ClientMethod } from './samples/typescript.ts'

type Json = any

export interface CodeSample {
  lang: string
  label: string
  source: string
}

/** In the order of the page. */
export function samplesOf(document: Json, operation: Operation, client: ClientMethod): CodeSample[] {
  const call = callOf(document, operation)
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call, client) },
    {
      lang: 'Python',
      label: 'Python',
      source: client.method === undefined ? python(call) : pythonClient(call, client.method),
    },
  ]
}
