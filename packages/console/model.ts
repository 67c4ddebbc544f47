// Look-ups in the model of the contract.
import data from '../../generated/console/model.json' with { type: 'json' }
import { operationTable } from '../../generated/client/operations.js'
import type {
  ConsoleDetail,
  ConsoleField,
  ConsoleList,
  ConsoleModel,
  PackedField,
  PackedModel,
} from './model-types.ts'
import { fill, match } from './router.ts'
import { titleOf } from './titles.ts'

interface Unpacker {
  /** Makes a field of its index. */
  unpack: (index: number) => ConsoleField
  /** Makes fields of indices, each of which is the difference from the index before. */
  unpackSteps: (steps: number[]) => ConsoleField[]
}

export function unpacker(packed: PackedField[], texts: Array<string | null> = []): Unpacker {
  const unpackSteps = (steps: number[]): ConsoleField[] => {
    let index = 0
    return steps.map((step) => unpack((index += step)))
  }
  const unpack = (index: number): ConsoleField => {
    const { title, kind = 'text', required = false, nullable = false, fields, ...field } = packed[index]
    const whole: ConsoleField = { ...field, kind, title: title ?? titleOf(field.name), required, nullable }
    const help = texts[index]
    if (help != null) whole.help = help
    return fields === undefined ? whole : { ...whole, fields: unpackSteps(fields) }
  }
  return { unpack, unpackSteps }
}

const packed = data as unknown as PackedModel
const { unpack } = unpacker(packed.fields)

/** The path of an operation, without the prefix of the version. */
const pathOf = ({ operation }: { operation: string }): string =>
  operationTable[operation as keyof typeof operationTable].path

export type List = Omit<ConsoleList, 'tag'>
export type Detail = Omit<ConsoleDetail, 'tag'>

export const model: Pick<ConsoleModel, 'title' | 'groups'> & {
  lists: List[]
  details: Detail[]
  operations: PackedModel['operations']
} = {
  ...packed,
  // BRAND_NAME.
  title: document.querySelector<HTMLMetaElement>('meta[name=application-name]')?.content || packed.title,
  lists: packed.lists.map(({ columns, filters = [], item, ...list }) => ({
    sort: [],
    ordered: false,
    create: null,
    prefix: null,
    keys: {},
    ...list,
    path: pathOf(list),
    item: item === undefined ? null : pathOf(packed.details[item]),
    columns: columns.map(unpack),
    filters: filters.map(unpack),
  })),
  details: packed.details.map(({ fields = [], related = [], ...detail }) => ({
    prefix: null,
    events: null,
    update: null,
    remove: null,
    actions: [],
    downloads: [],
    ...detail,
    path: pathOf(detail),
    fields: fields.map(unpack),
    related: related.map(([list, filter = null]) => ({ path: pathOf(packed.lists[list]), filter })),
  })),
}

/** The page of who can do what in a project or an organization. It has no path in the contract. */
export const peoplePath = '/people'
const people = { title: 'People', operation: 'listProjects' }
for (const { pages } of model.groups) if (pages.includes('/organizations')) pages.unshift(peoplePath)

/** The method, the path with the prefix of the version, and the name in the client. */
export function requestOf(operation: string): { method: string; path: string; client: string } {
  const { method, prefix, path, name = operation } = operationTable[operation as keyof typeof operationTable]
  return { method, path: prefix + path, client: name }
}

interface At<T> {
  page: T
  /** The values of the path's parameters. */
  values: Record<string, string>
}

function at<T extends { path: string }>(pages: T[], path: string): At<T> | null {
  for (const page of pages) {
    const values = match(page.path, path)
    if (values !== null) return { page, values }
  }
  return null
}

export const listAt = (path: string): At<List> | null => at(model.lists, path)
export const detailAt = (path: string): At<Detail> | null => at(model.details, path)

/** The title of a field where its value is shown: a name stands for an ID. */
export const shownTitle = ({ title, kind }: ConsoleField): string =>
  kind === 'id' ? title.replace(/ ID$/, '') : title

/** The list or detail with a path that has no parameters. */
export const pageOf = (path: string): Pick<List, 'title' | 'operation' | 'words'> =>
  path === peoplePath
    ? people
    : (model.lists.find((each) => each.path === path) ?? model.details.find((each) => each.path === path)!)

/** The list of all resources with a prefix of their IDs. */
export const listOf = (prefix: string): List | undefined =>
  model.lists.find((each) => each.prefix === prefix && !each.path.includes('{'))

/** Whether a list has the filter `project_id=*`, for the items of all projects and those outside of them. */
export const takesAllProjects = ({ filters }: List): boolean =>
  filters.some(({ name, values }) => name === 'project_id' && values?.includes('*'))

/** The prefix of a value that is an ID. */
export const prefixOf = (id: unknown): string | undefined =>
  typeof id === 'string' ? /^([a-z]+)_[0-9a-z]{26}$/.exec(id)?.[1] : undefined

/** The path of the resource with an ID; null if the console has no page for it. */
export function pathOfId(id: string): string | null {
  const prefix = prefixOf(id)
  const detail = model.details.find((each) => prefix !== undefined && each.prefix === prefix)
  return detail === undefined ? null : fill(detail.path, { id, [parameterOf(detail.path)]: id })
}

/** The path of an item of a list; null if it has no page. */
export function pathOfItem({ item, keys }: List, row: any, values: Record<string, string>): string | null {
  const own = Object.entries(keys).map(([name, field]): [string, unknown] => [name, row[field]])
  if (item === null || own.some(([, value]) => typeof value !== 'string')) return null
  return fill(item, { ...values, ...(Object.fromEntries(own) as Record<string, string>) })
}

/** The path of what an operation has created, which may be another resource: an invitation for a member. */
export function pathOfCreated(list: List, created: any, values: Record<string, string>): string | null {
  const prefix = prefixOf(created?.id)
  const its = list.prefix === prefix ? list : model.lists.find((each) => each.prefix === prefix)
  return its === undefined ? null : pathOfItem(its, created, values)
}

export const parameterOf = (path: string): string => path.slice(path.lastIndexOf('{') + 1, -1)

/** The value of a field, which may be in an inner object: `user.name`. */
export const valueAt = (item: any, path: string): any =>
  path.split('.').reduce((value, name) => value?.[name], item)
