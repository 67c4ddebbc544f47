// The spans of statements: their name, never their parameters. Only statements of a request or a job have
// one.
import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { Batch } from './batch.ts'
import { currentTraceparent, errorType, startSpan } from '../telemetry/spans.ts'

type Statement = string | { text: string; label?: string }

export function traceStatements(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...args: any[]) => any
  client.query = ((...args: any[]) => {
    if (args[0] instanceof Batch) {
      for (const { config, result } of args[0].statements) {
        const start = (): End | null => (currentTraceparent() === undefined ? null : startStatement(config))
        const end = config.inContext === undefined ? start() : config.inContext(start)
        if (end !== null) endWith(result, end)
      }
      return query(...args)
    }
    if (currentTraceparent() === undefined) return query(...args)
    const end = startStatement(args[0] as Statement)
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      const inContext = AsyncLocalStorage.bind(callback)
      return query(...args.slice(0, -1), (error: unknown, result: unknown) => {
        end(error)
        inContext(error, result)
      })
    }
    const result = query(...args)
    // A statement that streams its rows has no promise.
    if (typeof result?.then === 'function') endWith(result, end)
    else end()
    return result
  }) as typeof client.query
}

type End = (error?: unknown) => void

function startStatement(statement: Statement): End {
  const name = nameOf(statement)
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name }
  const span = startSpan(name, { kind: 'client', attributes })!
  return (error) => {
    if (error) span.fail(errorType(error))
    span.end()
  }
}

function endWith(result: Promise<unknown>, end: End): void {
  result.then(
    () => end(),
    (error: unknown) => end(error),
  )
}

/** The file of the statement in prisma/sql, or its first word and table: `SELECT users`. */
function nameOf(statement: Statement): string {
  const { text, label = undefined } = typeof statement === 'string' ? { text: statement } : statement
  if (label !== undefined) return label
  const [verb] = /^\s*\w+/.exec(text) ?? ['statement']
  const table = /\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?((?:"?\w+"?\.)?"?\w+"?)/i.exec(text)?.[1]
  const name = table?.replaceAll('"', '').replace(/^public\./, '')
  return [verb.trim().toUpperCase(), name].filter(Boolean).join(' ')
}
