// The names of resources by their IDs: what a list shows as its first column. One request for each kind.
import { useEffect, useState } from 'preact/hooks'
import {
  listOf,
  model,
  parameterOf,
  prefixOf,
  takesAllProjects,
  valueAt,
  type Detail,
  type List,
} from './model.ts'
import { currentPlace, placeNames } from './router.ts'
import { call, failureOf, isAllowed } from './session.ts'

const names = new Map<string, string>()
const loads = new Map<string, Promise<any>>()
const pageSize = 100

export const nameOf = (id: string): string | undefined => names.get(id)

/** Shows a value, such as a choice of a filter, by a name. */
export const nameAs = (value: string, name: string): void => void names.set(value, name)

/** Remembers the names of users that the parameter `include` adds, and of the items of a list. */
export function remember(list: List | null, items: any[]): void {
  for (const item of items) {
    const column = list?.columns[0]
    const name = column === undefined ? undefined : valueAt(item, column.name)
    const text = column?.kind === 'id' ? nameOf(name) : name
    if (list !== null && isName(list, column!.kind) && typeof text === 'string' && text !== '')
      names.set(item.id, text)
    for (const each of Object.values<any>(item))
      if (prefixOf(each?.id) === 'usr') names.set(each.id, each.name || each.email)
  }
}

const isName = ({ columns }: List, kind: string): boolean =>
  columns[0].name !== 'id' && ['text', 'long', 'url', 'id'].includes(kind)

/** The IDs in items whose names are not known. */
const referencesIn = (items: any[]): Set<string> =>
  new Set(
    items
      .flatMap((item) => Object.entries<any>(item))
      .flatMap(([name, id]) => (name !== 'id' && prefixOf(id) !== undefined && !names.has(id) ? [id] : [])),
  )

/**
 * Loads the names of resources that values refer to, unless a list of their kind is loaded already.
 * @param isDeep whether such a resource may have the name of another one, as a price has that of its product.
 */
export async function learn(items: any[], isDeep = true): Promise<void> {
  const prefixes = new Set([...referencesIn(items)].map((id) => prefixOf(id)!))
  const named = [...prefixes].filter((prefix) => isDeep || listOf(prefix)?.columns[0].kind !== 'id')
  await Promise.all(named.map(async (prefix) => await namesOf(prefix)))
}

const maxSingle = 20

/** Loads also the names of resources that are not among the first of their kind, each by a request. */
export async function learnEach(items: any[]): Promise<void> {
  await learn(items)
  await Promise.all([...referencesIn(items)].slice(0, maxSingle).map(nameBy))
}

/** Loads once. A failed load is repeated the next time, except after 403 and 404. */
async function once(key: string, load: () => Promise<any>): Promise<any> {
  if (!loads.has(key)) loads.set(key, load())
  try {
    return await loads.get(key)
  } catch (error) {
    if (!['NOT_FOUND', 'FORBIDDEN'].includes(failureOf(error).code!)) loads.delete(key)
    return []
  }
}

/**
 * Loads a list of a kind of resource once for each place, or again.
 * @returns the IDs and names of its items
 */
export async function namesOf(prefix: string, isAgain = false): Promise<Array<[string, string]>> {
  const list = listOf(prefix)
  if (list === undefined || !isAllowed(list.operation) || !isName(list, list.columns[0].kind)) return []
  const place = currentPlace()
  const query = Object.fromEntries(
    placeNames.flatMap((name) =>
      list.filters.some((filter) => filter.name === name) && place[name] ? [[name, place[name]]] : [],
    ),
  )
  // Without a chosen project those of all.
  if (takesAllProjects(list) && Object.keys(query).length === 0) query.project_id = '*'
  const key = `${prefix} ${JSON.stringify(query)}`
  if (isAgain) loads.delete(key)
  return await once(key, () => load(list, query))
}

async function load(list: List, query: Record<string, unknown>): Promise<Array<[string, string]>> {
  const items: any[] = (await call(list.operation, { query: { ...query, limit: pageSize } })).data.data
  await rememberNamed(list, items)
  return items
    .flatMap(({ id }): Array<[string, string]> => (names.has(id) ? [[id, names.get(id)!]] : []))
    .sort(([, a], [, b]) => a.localeCompare(b))
}

async function rememberNamed(list: List, items: any[]): Promise<void> {
  if (list.columns[0].kind === 'id') await learn(items, false)
  remember(list, items)
}

/** The name of a resource, which is loaded; its ID until then. */
export function useName(id: string | undefined): string | undefined {
  const [, setRound] = useState(0)
  useEffect(() => {
    if (id === undefined || names.has(id)) return
    void learnEach([{ id_: id }]).then(() => setRound((n) => n + 1))
  }, [id])
  return id && (names.get(id) ?? id)
}

/** A resource that is not among the first of its kind is loaded once by itself. */
async function nameBy(id: string): Promise<void> {
  const list = listOf(prefixOf(id)!)
  const detail = model.details.find(({ path }) => path === list?.item)
  const isNamed = list !== undefined && isName(list, list.columns[0].kind)
  if (!isNamed || !isAllowed(detail?.operation ?? null)) return
  await once(id, () => loadOne(list, detail!, id))
}

async function loadOne(list: List, { operation, path }: Detail, id: string): Promise<void> {
  await rememberNamed(list, [(await call(operation, { path: { [parameterOf(path)]: id } })).data])
}
