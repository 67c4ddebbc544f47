// The default handlers of resources with x-crud: list, create, get, update and delete in a project, with the
// checks, events and conflicts of handlers written by hand. A module of handlers/ replaces single ones.
import { resources, type Resources } from '../generated/resources.ts'
import type { components, operations } from '../generated/types.ts'
import { changesOf } from '../infra/changes.ts'
import { violatedConstraint } from '../infra/database/errors.ts'
import type { Db } from '../infra/database/database.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { conflict, notFound } from '../infra/errors.ts'
import { newId, timeOf, type IdPrefix } from '../infra/ids.ts'
import type { Handler, HandlerServices } from './handler.ts'
import { findProject, openProject, requireProjectStatus } from './projects/access.ts'

type Ids<R extends keyof Resources> = Extract<Resources[R][keyof Resources[R]], keyof operations>
type Row<R extends keyof Resources> = R extends keyof components['schemas'] ? components['schemas'][R] : never

/** The statements of a resource: the module of generated/sql with its name. */
interface Statements<Item> {
  list(db: Db, query: any): Promise<{ data: Item[] }>
  find(db: Db, key: { id: string; project_id: string }): Promise<Item | undefined>
  lock(db: Db, key: { id: string; project_id: string }): Promise<Item | undefined>
  insert(db: Db, row: any): Promise<Item>
  update(db: Db, row: any): Promise<Item>
  remove(db: Db, key: { id: string }): Promise<void>
}

/** The types of a request hold for every resource; its schemas are checked before. */
type AnyRequest = any

/** @param sql the module of generated/sql with the statements of the resource. */
export function resourceHandlers<R extends keyof Resources & string>(
  resource: R,
  sql: Statements<Row<R>>,
): { [Id in Ids<R>]: Handler<Id> } {
  const { name, event, prefix, path, list, parameter, absent } = resources[resource]

  async function found(db: Db, { params }: AnyRequest, find = sql.find): Promise<any> {
    const row = await find(db, { id: params[parameter], project_id: params.id })
    if (row === undefined) throw notFound(name, params[parameter])
    return row
  }

  /** Locks the project and the row. The 404 of the row comes before the 409 of the project. */
  async function locked(tx: Db, request: AnyRequest): Promise<any> {
    const project = await findProject(tx, request, { lock: true })
    const row = await found(tx, request, sql.lock)
    requireProjectStatus(project, request)
    request.ifMatch(row)
    return row
  }

  const emit = async ({ events }: any, tx: Db, verb: string, row: any, previous?: any): Promise<void> =>
    await events.emit(tx, `${event}.${verb}`, row, previous && { previous })

  const handlers = {
    async [`list${list}`](request: AnyRequest, { db }: HandlerServices) {
      await openProject(db, request)
      return { status: 200, body: await sql.list(db, { project_id: request.params.id, ...request.query }) }
    },

    async [`create${resource}`](request: AnyRequest, services: HandlerServices) {
      return await services.db.transaction(async (tx) => {
        const { id: projectId } = await openProject(tx, request, { lock: true })
        const id = newId(prefix as IdPrefix)
        const row = { ...absent, ...request.body, id, project_id: projectId, created_at: timeOf(id) }
        const created = await orConflict(
          sql.insert(tx, { ...row, created_by: request.principal.userId }),
          name,
        )
        await emit(services, tx, 'created', created)
        const location = `/v1/projects/${projectId}/${path}/${id}`
        return { status: 201, body: created, headers: { location } }
      })
    },

    async [`get${resource}`](request: AnyRequest, { db }: HandlerServices) {
      await openProject(db, request)
      return { status: 200, body: await found(db, request) }
    },

    async [`update${resource}`](request: AnyRequest, services: HandlerServices) {
      return await services.db.transaction(async (tx) => {
        const previous = await locked(tx, request)
        const changes = changesOf(previous, request.body)
        if (changes === null) return { status: 200, body: previous }
        const updatedAt = timestampAfter(new Date(previous.updated_at))
        const row = { ...previous, ...changes, updated_at: updatedAt }
        const updated = await orConflict(sql.update(tx, row), name)
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

/** 409 for a row that a unique constraint refuses. */
async function orConflict<T>(written: Promise<T>, name: string): Promise<T> {
  return await written.catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23505') throw error
    throw conflict(violatedConstraint(error) ?? 'unique', `There is such a ${name} already.`)
  })
}
