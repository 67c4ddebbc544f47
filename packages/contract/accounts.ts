// The accounts of a run. If the given key may create users, the run creates its own: the actor, who sends
// most requests, another user, who must not see the actor's data, and an operator. Existing accounts are then
// not changed, and the rate limits of a user count only the requests of this run.
import fc from 'fast-check'
import { kindOf, schemaOf, successOf, type Json, type Operation } from '@platform-api/openapi/document.ts'
import type { Answer, Sender } from './sender.ts'
import { valuesOf } from './values.ts'
import type { RunOptions } from './options.ts'

/** The run cannot start with these options. */
export class UsageError extends Error {}

export interface Account {
  id: string | null
  key: string
  scopes: string[] | null
}

export interface Accounts {
  /** Sends the requests that an ordinary user may not send. */
  operator: Account
  /** Sends every request that an ordinary user may send. */
  actor: Account
  /** For the tenant isolation checks; null if there is none. */
  otherUser: Account | null
  /** Whether the run created the actor, and so may change the account. */
  createdUser: boolean
  /** The operation that creates a key with chosen scopes; null if there is none. */
  keyCreator: Operation | null
  keyFor(operation: Operation): string | null
  /** Whether the operation needs scopes that an ordinary user does not have. */
  lacksScopes(operation: Operation): boolean
  /** Whether an ordinary user may not send the operation without naming an organization. */
  needsOperator(operation: Operation): boolean
}

export async function createAccounts({
  options,
  operations,
  sender,
  document,
}: {
  options: RunOptions
  operations: Operation[]
  sender: Sender
  document: Json
}): Promise<Accounts> {
  const { key, profile } = options
  const rules = profile.accounts
  const given: Account = { id: null, key: key ?? '', scopes: null }
  if (key !== null) await requireValidKey(operations, sender, key)
  const creators = operations.filter(
    (operation) =>
      rules !== null &&
      operation.method === 'POST' &&
      !operation.path.includes('{') &&
      keyProperty(document, operation, given.key) !== null,
  )
  const userCreator = creators.find(
    (operation) => !schemaOf(document, operation.body?.media[0].schema).properties?.scopes,
  )
  const keyCreator =
    creators.find((operation) => schemaOf(document, operation.body?.media[0].schema).properties?.scopes) ??
    null
  const createUser = async (extra: Json = {}): Promise<Account | null> => {
    if (userCreator === undefined || options.readOnly) return null
    const { schema } = userCreator.body!.media[0]
    const values = Object.fromEntries(
      (schema.required ?? []).map((name: string) => [
        name,
        fc.sample(valuesOf(document, schema.properties[name], { ids: () => [], named: () => [] })!, 1)[0],
      ]),
    )
    const answer = await sender.send(
      userCreator,
      {
        path: {},
        query: {},
        headers: {},
        body: { ...values, ...rules!.user, ...extra },
        type: 'application/json',
      },
      given.key,
    )
    if (answer.status === 403) return null
    if (answer.status !== 201)
      throw new UsageError(
        `${userCreator.id} returned ${answer.status} when the run created its own user: ` +
          answer.text.slice(0, 300),
      )
    return accountOf(document, userCreator, answer, given.key)
  }
  const createdActor = await createUser()
  const otherUser =
    options.secondKey === null ? await createUser() : { id: null, key: options.secondKey, scopes: null }
  const actor = createdActor ?? given
  const { properties = {} } = schemaOf(document, userCreator?.body?.media[0].schema) ?? {}
  const isListed = ([name, value]: [string, string]): boolean =>
    properties[name]?.enum?.includes(value) === true
  const operator =
    (createdActor !== null && Object.entries(rules!.operator).every(isListed)
      ? await createUser(rules!.operator)
      : null) ?? given
  const may = (account: Account, operation: Operation): boolean =>
    account.scopes === null || operation.scopes!.every((scope) => account.scopes!.includes(scope))
  const lacksScopes = (operation: Operation): boolean =>
    createdActor !== null && operation.scopes !== null && !may(actor, operation)
  const needsOperator = (operation: Operation): boolean =>
    lacksScopes(operation) ||
    (createdActor !== null &&
      operation.scopes?.some((scope) => rules!.operatorScopes.includes(scope)) === true)
  return {
    operator,
    actor,
    otherUser,
    createdUser: createdActor !== null,
    keyCreator,
    lacksScopes,
    needsOperator,
    keyFor: (operation) =>
      key === null || (operation.scopes === null && !operation.optionalKey)
        ? null
        : needsOperator(operation)
          ? operator.key
          : actor.key,
  }
}

/** Throws UsageError if the server answers 401 to this key. */
async function requireValidKey(operations: Operation[], sender: Sender, key: string): Promise<void> {
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
  if (plain.length > 0) throw new UsageError('The server rejects the key. Pass another one with --key.')
}

/** The path to the response property whose pattern matches the given key; null if there is none. */
function keyProperty(document: Json, operation: Operation, key: string): string[] | null {
  const look = (node: Json, path: string[]): string[] | null => {
    const whole = schemaOf(document, node)
    // A key may be null: `anyOf` of an object and null.
    const schema = schemaOf(document, whole.anyOf?.find((each: Json) => each.type !== 'null') ?? whole)
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

/** The account whose new key the response holds. */
export function accountOf(document: Json, operation: Operation, { body }: Answer, key: string): Account {
  const path = keyProperty(document, operation, key)!
  const holder = path.slice(0, -1).reduce((at, name) => at?.[name], body)
  return { id: body.id, key: holder[path.at(-1)!], scopes: holder.scopes ?? null }
}
