// Whose keys the run uses. Where the key may make users, it makes two of its own, so that nobody's account is touched: one who does most of it, and a
// stranger who must see none of it.
import fc from 'fast-check'
import { kindOf, schemaOf, successOf, type Json, type Operation } from './document.ts'
import type { Answer, Sender } from './sender.ts'
import { valuesOf } from './values.ts'
import type { RunOptions } from './options.ts'

/** The run cannot begin with what it was given. */
export class UsageError extends Error {}

export interface Person {
  id: string | null
  key: string
  scopes: string[] | null
}

export interface People {
  /** The one whose key was given. */
  operator: Person
  /** Who asks what needs no more than an ordinary user's scopes. */
  actor: Person
  /** Somebody else; null where there is none. */
  stranger: Person | null
  /** Whether the run has made the actor, and may do to the account whatever it likes. */
  ownUser: boolean
  /** The operation by which a key with chosen scopes is made, and the name of its property for them; null where there is none. */
  keyMaker: Operation | null
  keyFor(operation: Operation): string | null
  /** Whether the operation needs more than an ordinary user may do. */
  isOperators(operation: Operation): boolean
}

export async function peopleOf({
  options,
  operations,
  sender,
  document,
}: {
  options: RunOptions
  operations: Operation[]
  sender: Sender
  document: Json
}): Promise<People> {
  const operator: Person = { id: null, key: options.key, scopes: null }
  await refuseWrongKey(operations, sender, options.key)
  const makers = operations.filter(
    (operation) =>
      operation.method === 'POST' &&
      !operation.path.includes('{') &&
      secretIn(document, operation, options.key) !== null,
  )
  const userMaker = makers.find(
    (operation) => !schemaOf(document, operation.body?.media[0].schema).properties?.scopes,
  )
  const keyMaker =
    makers.find((operation) => schemaOf(document, operation.body?.media[0].schema).properties?.scopes) ?? null
  const make = async (): Promise<Person | null> => {
    if (userMaker === undefined || options.readOnly) return null
    const { schema } = userMaker.body!.media[0]
    const values = Object.fromEntries(
      (schema.required ?? []).map((name: string) => [
        name,
        fc.sample(valuesOf(document, schema.properties[name], { ids: () => [], named: () => [] })!, 1)[0],
      ]),
    )
    const answer = await sender.send(
      userMaker,
      {
        path: {},
        query: {},
        headers: {},
        body: { ...values, name: 'Contract test' },
        type: 'application/json',
      },
      options.key,
    )
    if (answer.status === 403) return null
    if (answer.status !== 201)
      throw new UsageError(
        `${userMaker.id} answers ${answer.status} where the run makes a user of its own: ${answer.text.slice(0, 300)}`,
      )
    return personOf(document, userMaker, answer, options.key)
  }
  const made = await make()
  const stranger =
    options.secondKey === null ? await make() : { id: null, key: options.secondKey, scopes: null }
  const actor = made ?? operator
  const may = (person: Person, operation: Operation): boolean =>
    person.scopes === null || operation.scopes!.every((scope) => person.scopes!.includes(scope))
  const isOperators = (operation: Operation): boolean =>
    made !== null && operation.scopes !== null && !may(actor, operation)
  return {
    operator,
    actor,
    stranger,
    ownUser: made !== null,
    keyMaker,
    isOperators,
    keyFor: (operation) =>
      operation.scopes === null && !operation.optionalKey
        ? null
        : isOperators(operation)
          ? operator.key
          : actor.key,
  }
}

/** Throws UsageError unless one of the operations that want a key takes this one. */
async function refuseWrongKey(operations: Operation[], sender: Sender, key: string): Promise<void> {
  const plain = operations.filter(
    ({ method, path, scopes, parameters }) =>
      method === 'GET' &&
      scopes !== null &&
      !path.includes('{') &&
      !parameters.some(({ required }) => required),
  )
  for (const operation of plain.slice(0, 5)) {
    const answer = await sender.send(operation, { path: {}, query: {}, headers: {} }, key)
    if (answer.status !== 401) return
  }
  if (plain.length > 0) throw new UsageError('The server does not take the key: say another with --key.')
}

/** The path to a property of the success that can hold a key such as the given one. */
function secretIn(document: Json, operation: Operation, key: string): string[] | null {
  const look = (node: Json, path: string[]): string[] | null => {
    const schema = schemaOf(document, node)
    if (
      typeof schema.pattern === 'string' &&
      kindOf(schema) === null &&
      schema.pattern.startsWith('^') &&
      schema.pattern.length > 10 &&
      new RegExp(schema.pattern, 'u').test(key)
    )
      return path
    for (const [name, property] of Object.entries<Json>(schema.properties ?? {})) {
      const found = path.length > 2 ? null : look(property, [...path, name])
      if (found !== null) return found
    }
    return null
  }
  const success = successOf(operation)
  return success === null ? null : look(success.media.schema, [])
}

/** Whose key stands in the answer. */
export function personOf(document: Json, operation: Operation, { body }: Answer, key: string): Person {
  const path = secretIn(document, operation, key)!
  const holder = path.slice(0, -1).reduce((at, name) => at?.[name], body)
  return { id: body.id, key: holder[path.at(-1)!], scopes: holder.scopes ?? null }
}
