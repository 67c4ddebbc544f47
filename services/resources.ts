// The default handlers of resources with x-crud: list, create, get, update and delete in a project, in an
// organization or in another such resource, with the checks, events and conflicts of handlers written by
// hand. A module of handlers/ replaces single ones.
import { resources, type Resources } from '../generated/resources.ts'
import type { components, operations } from '../generated/types.ts'
import { changesOf, hasFields } from '../infra/contract/changes.ts'
import { uniqueColumns, violatedConstraint } from '../infra/database/errors.ts'
import type { Db, Transaction } from '../infra/database/database.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { conflict, notFound } from '../infra/errors.ts'
import { newId, newIdAt, timeOf, type IdPrefix } from '../infra/ids.ts'
import type { Handler, HandlerServices } from './handler.ts'
import { openOrganization } from './organizations/access.ts'
import { openProjectInAnyState, requireProjectStatus } from './projects/access.ts'

type Ids<R extends keyof Resources> = Extract<Resources[R][keyof Resources[R]], keyof operations>
type Row<R extends keyof Resources> = R extends keyof components['schemas'] ? components['schemas'][R] : never

/** The statements of a resource: the module of generated/sql with its name. */
interface Statements<Item> {
  list(db: Db, query: any): Promise<{ data: Item[] }>
  find(db: Db, key: any): Promise<Item | undefined>
  lock(db: Db, key: any): Promise<Item | undefined>
  insert(db: Db, row: any): Promise<Item>
  update?(db: Db, row: any): Promise<Item>
  remove?(db: Db, key: { id: string }): Promise<void>
}

/** The types of a request hold for every resource; its schemas are checked before. */
type AnyRequest = any

interface Hooks<Item> {
  /** The clock of the ids and times. Default: the server's. */
  now?(tx: Transaction): Promise<Date>
  /** The user to whom the event of a row belongs, where its type has the audience `user`. */
  userOf?(row: Item): string
  /**
   * Authorizes a list, by its query, a new row, by the body, or a row that was found, before it is locked.
   * `missing` is the 404 for who must not know of it.
   */
  authorize?(db: Db, request: AnyRequest, row: Partial<Item>, missing: () => Error): Promise<void>
  /** Runs before the row, which is locked, is updated. */
  beforeUpdate?(tx: Transaction, row: Item): Promise<void>
  /** Runs before the row, which is locked, is deleted. */
  beforeDelete?(tx: Transaction, row: Item): Promise<void>
}

/** `parent`: the statements of the resource that another one is in. */
type Options<R extends keyof Resources> = Resources[R] extends { parent: infer P extends keyof Resources }
  ? [options: Hooks<Row<R>> & { parent: Pick<Statements<Row<P>>, 'find' | 'lock'> }]
  : [options?: Hooks<Row<R>>]

/** @param sql the module of generated/sql with the statements of the resource. */
export function resourceHandlers<R extends keyof Resources & string>(
  resource: R,
  sql: Statements<Row<R>>,
  ...[options]: Options<R>
): { [Id in Ids<R>]: Handler<Id> } {
  const { name, event, prefix, path, operations, parameter, place, outer, fields, absent } =
    resources[resource]
  const { now, userOf, authorize, beforeUpdate, beforeDelete, parent }: Hooks<any> & { parent?: any } =
    options ?? {}

  /** The columns that say what the resource is in. */
  const placeOf = ({ params }: AnyRequest): Record<string, string> => ({
    ...(place !== 'platform' && { [`${place}_id`]: params.id }),
    ...(outer && { [outer.parameter]: params[outer.parameter] }),
  })

  const orTaken = async (written: Promise<any>, request: AnyRequest): Promise<any> => {
    const of = outer?.name ?? (place === 'platform' ? null : place)
    return await orConflict(written, name, {
      of,
      within: [...Object.keys(placeOf(request)), 'organization_id'],
      fields,
    })
  }

  async function found(db: Db, request: AnyRequest, find = sql.find): Promise<any> {
    const id = request.params[parameter]
    const row = await find(db, { id, ...placeOf(request) })
    if (row === undefined) throw notFound(name, id)
    return row
  }

  async function openFound(db: Db, request: AnyRequest): Promise<any> {
    const row = await found(db, request)
    await authorize?.(db, request, row, () => notFound(name, row.id))
    return row
  }

  /** Authorizes a list or a creation for the organization that it names. */
  async function openOwner(db: Db, request: AnyRequest, named: AnyRequest): Promise<void> {
    await authorize?.(db, request, named, () => notFound('organization', named.organization_id))
  }

  /** Throws 404 when what the resource is in does not exist in the project. */
  async function requireOuter(db: Db, { params }: AnyRequest, { lock = false } = {}): Promise<void> {
    if (outer === null) return
    const id = params[outer.parameter]
    const find = lock ? parent.lock : parent.find
    if ((await find(db, { id, project_id: params.id })) === undefined) throw notFound(outer.name, id)
  }

  /** @returns the check of the project's status: its 409 comes after every 404. */
  async function findPlace(db: Db, request: AnyRequest, options: { lock?: boolean }): Promise<() => void> {
    if (place === 'organization') await openOrganization(db, request, options)
    if (place !== 'project') return () => {}
    const project = await openProjectInAnyState(db, request, options)
    return () => requireProjectStatus(project, request)
  }

  async function openOuter(db: Db, request: AnyRequest, options: { lock?: boolean } = {}): Promise<void> {
    const requireStatus = await findPlace(db, request, options)
    await requireOuter(db, request, options)
    requireStatus()
  }

  /** Locks what the resource is in, and the row. */
  async function locked(tx: Transaction, request: AnyRequest): Promise<any> {
    const requireStatus = await findPlace(tx, request, { lock: true })
    await requireOuter(tx, request, { lock: true })
    if (authorize !== undefined) await openFound(tx, request)
    const row = await found(tx, request, sql.lock)
    requireStatus()
    request.ifMatch(row)
    return row
  }

  const emit = async (
    { events }: any,
    tx: Transaction,
    verb: string,
    row: any,
    previous?: any,
  ): Promise<void> => await events.emit(tx, `${event}.${verb}`, row, { previous, userId: userOf?.(row) })

  const handlers: Record<string, (request: AnyRequest, services: HandlerServices) => Promise<any>> = {
    async list(request, { db }) {
      await openOuter(db, request)
      await openOwner(db, request, request.query)
      return { status: 200, body: await sql.list(db, { ...placeOf(request), ...request.query }) }
    },

    async create(request, services) {
      return await services.db.transaction(async (tx) => {
        await openOuter(tx, request, { lock: true })
        await openOwner(tx, request, request.body)
        const id = now ? newIdAt(prefix as IdPrefix, await now(tx)) : newId(prefix as IdPrefix)
        const row = { ...absent, ...request.body, id, ...placeOf(request), created_at: timeOf(id) }
        const created = await orTaken(
          sql.insert(tx, { ...row, created_by: request.principal.userId }),
          request,
        )
        await emit(services, tx, 'created', created)
        const of = path.replace(/\{(\w+)\}/g, (_, parameter) => request.params[parameter])
        const location = `/v1${of}/${id}`
        return { status: 201, body: created, headers: { location } }
      })
    },

    async get(request, { db }) {
      await openOuter(db, request)
      return { status: 200, body: await openFound(db, request) }
    },

    async update(request, services) {
      return await services.db.transaction(async (tx) => {
        const previous = await locked(tx, request)
        const changes = changesOf(previous, request.body, hasFields)
        if (changes === null) return { status: 200, body: previous }
        await beforeUpdate?.(tx, previous)
        const updatedAt = timestampAfter(new Date(previous.updated_at), await now?.(tx))
        const row = { ...previous, ...changes, updated_at: updatedAt }
        const updated = await orTaken(sql.update!(tx, row), request)
        await emit(services, tx, 'updated', updated, previous)
        return { status: 200, body: updated }
      })
    },

    async delete(request, services) {
      return await services.db.transaction(async (tx) => {
        const previous = await locked(tx, request)
        await beforeDelete?.(tx, previous)
        await sql.remove!(tx, { id: previous.id })
        await emit(services, tx, 'deleted', previous)
        return { status: 204 }
      })
    },
  }
  const byId = Object.entries(operations).map(([verb, id]) => [id, handlers[verb]])
  return Object.fromEntries(byId) as { [Id in Ids<R>]: Handler<Id> }
}

interface ConflictOptions {
  /** The parent of the row, for the message. */
  of?: string | null
  /** The columns that say so. They are not named. */
  within?: string[]
  /** The fields by the names of their columns, where these differ. */
  fields?: Record<string, string>
}

/**
 * 409 for a row that a unique constraint refuses, with the fields whose values another row has.
 * @param name what the message calls the resource.
 */
export async function orConflict<T>(
  written: Promise<T>,
  name: string,
  { of = 'project', within = ['project_id'], fields = {} }: ConflictOptions = {},
): Promise<T> {
  return await written.catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
    const taken = uniqueColumns(error)
      .filter((column) => !within.includes(column))
      .map((column) => fields[column] ?? column)
    if (taken.length === 0)
      throw conflict(violatedConstraint(error) ?? 'unique', `There is such a ${name} already.`)
    const others = of === null ? `Another ${name}` : `Another ${name} of the ${of}`
    throw conflict(`${taken.join('_')}_taken`, `${others} has this ${taken.join(' and ')}.`, taken[0])
  })
}
