// The default handlers of resources with x-crud: list, create, get, update and delete in a project or
// in another such resource, with the checks, events and conflicts of handlers written by hand. A module of
// handlers/ replaces single ones.
import { resources, type Resources } from '../generated/resources.ts'
import type { components, operations } from '../generated/types.ts'
import { changesOf, hasFields } from '../infra/contract/changes.ts'
import { uniqueColumns, violatedConstraint } from '../infra/database/errors.ts'
import type { Db } from '../infra/database/database.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { conflict, notFound } from '../infra/errors.ts'
import { newId, timeOf, type IdPrefix } from '../infra/ids.ts'
import type { Handler, HandlerServices } from './handler.ts'
import { findProject, requireProjectStatus } from './projects/access.ts'

type Ids<R extends keyof Resources> = Extract<Resources[R][keyof Resources[R]], keyof operations>
type Row<R extends keyof Resources> = R extends keyof components['schemas'] ? components['schemas'][R] : never

/** The statements of a resource: the module of generated/sql with its name. */
interface Statements<Item> {
  list(db: Db, query: any): Promise<{ data: Item[] }>
  find(db: Db, key: any): Promise<Item | undefined>
  lock(db: Db, key: any): Promise<Item | undefined>
  insert(db: Db, row: any): Promise<Item>
  update(db: Db, row: any): Promise<Item>
  remove(db: Db, key: { id: string }): Promise<void>
}

/** The statements of the resource that another one is in. */
type Outer<R extends keyof Resources> = Resources[R] extends { parent: infer P extends keyof Resources }
  ? [outer: Pick<Statements<Row<P>>, 'find' | 'lock'>]
  : []

/** The types of a request hold for every resource; its schemas are checked before. */
type AnyRequest = any

/**
 * @param sql the module of generated/sql with the statements of the resource.
 * @param outer that of the resource it is in, for a resource with a `parent`.
 */
export function resourceHandlers<R extends keyof Resources & string>(
  resource: R,
  sql: Statements<Row<R>>,
  ...[outerSql]: Outer<R>
): { [Id in Ids<R>]: Handler<Id> } {
  const { name, event, prefix, path, list, parameter, outer, fields, absent } = resources[resource]
  const conflicts = { within: ['project_id', ...(outer ? [outer.parameter] : [])], fields }

  /** The columns that say what the resource is in. */
  const placeOf = ({ params }: AnyRequest): Record<string, string> => ({
    project_id: params.id,
    ...(outer && { [outer.parameter]: params[outer.parameter] }),
  })

  async function found(db: Db, request: AnyRequest, find = sql.find): Promise<any> {
    const id = request.params[parameter]
    const row = await find(db, { id, ...placeOf(request) })
    if (row === undefined) throw notFound(name, id)
    return row
  }

  /** Throws 404 when what the resource is in does not exist in the project. */
  async function requireOuter(db: Db, { params }: AnyRequest, { lock = false } = {}): Promise<void> {
    if (outer === null) return
    const id = params[outer.parameter]
    const find = lock ? outerSql!.lock : outerSql!.find
    if ((await find(db, { id, project_id: params.id })) === undefined) throw notFound(outer.name, id)
  }

  async function openOuter(db: Db, request: AnyRequest, options: { lock?: boolean } = {}): Promise<void> {
    const project = await findProject(db, request, options)
    await requireOuter(db, request, options)
    requireProjectStatus(project, request)
  }

  /** Locks the project, what the resource is in, and the row. Their 404 come before the project's 409. */
  async function locked(tx: Db, request: AnyRequest): Promise<any> {
    const project = await findProject(tx, request, { lock: true })
    await requireOuter(tx, request, { lock: true })
    const row = await found(tx, request, sql.lock)
    requireProjectStatus(project, request)
    request.ifMatch(row)
    return row
  }

  const emit = async ({ events }: any, tx: Db, verb: string, row: any, previous?: any): Promise<void> =>
    await events.emit(tx, `${event}.${verb}`, row, previous && { previous })

  const handlers = {
    async [`list${list}`](request: AnyRequest, { db }: HandlerServices) {
      await openOuter(db, request)
      return { status: 200, body: await sql.list(db, { ...placeOf(request), ...request.query }) }
    },

    async [`create${resource}`](request: AnyRequest, services: HandlerServices) {
      return await services.db.transaction(async (tx) => {
        await openOuter(tx, request, { lock: true })
        const id = newId(prefix as IdPrefix)
        const row = { ...absent, ...request.body, id, ...placeOf(request), created_at: timeOf(id) }
        const created = await orConflict(
          sql.insert(tx, { ...row, created_by: request.principal.userId }),
          name,
          conflicts,
        )
        await emit(services, tx, 'created', created)
        const of = path.replace(/\{(\w+)\}/g, (_, parameter) => request.params[parameter])
        const location = `/v1${of}/${id}`
        return { status: 201, body: created, headers: { location } }
      })
    },

    async [`get${resource}`](request: AnyRequest, { db }: HandlerServices) {
      await openOuter(db, request)
      return { status: 200, body: await found(db, request) }
    },

    async [`update${resource}`](request: AnyRequest, services: HandlerServices) {
      return await services.db.transaction(async (tx) => {
        const previous = await locked(tx, request)
        const changes = changesOf(previous, request.body, hasFields)
        if (changes === null) return { status: 200, body: previous }
        const updatedAt = timestampAfter(new Date(previous.updated_at))
        const row = { ...previous, ...changes, updated_at: updatedAt }
        const updated = await orConflict(sql.update(tx, row), name, conflicts)
        await emit(services, tx, 'updated', updated, previous)
        return { status: 200, body: updated }
      })
    },

    async [`delete${resource}`](request: AnyRequest, services: HandlerServices) {
      return await services.db.transaction(async (tx) => {
        const previous = await locked(tx, request)
        await sql.remove(tx, { id: previous.id })
        await emit(services, tx, 'deleted', previous)
        return { status: 204 }
      })
    },
  }
  return handlers as unknown as { [Id in Ids<R>]: Handler<Id> }
}

interface ConflictOptions {
  /** Columns that say what the row is in. They are not named. */
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
  { within = ['project_id'], fields = {} }: ConflictOptions = {},
): Promise<T> {
  return await written.catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
    const taken = uniqueColumns(error)
      .filter((column) => !within.includes(column))
      .map((column) => fields[column] ?? column)
    const message =
      taken.length === 0
        ? `There is such a ${name} already.`
        : `Another ${name} has this ${taken.join(' and ')}.`
    throw conflict(violatedConstraint(error) ?? 'unique', message, taken[0])
  })
}
