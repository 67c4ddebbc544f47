// The model of the console as two small files: one for all pages, one for forms. Each names a field once and
// refers to it by its index. Titles that follow from names, the kind `text`, empty values, and paths, which
// the client has by operation, are left out. The first file does not say which fields are required.
import type {
  ConsoleField,
  ConsoleModel,
  PackedField,
  PackedForms,
  PackedHelp,
  PackedModel,
} from '../../packages/console/model-types.ts'
import { titleOf } from '../../packages/console/titles.ts'

export function packModel({ lists, details, operations, ...others }: ConsoleModel): PackedModel {
  const { fields, pack: packWhole } = packer()
  const pack = (field: ConsoleField): number => packWhole(asFilter(field))
  const packShown = (field: ConsoleField): number => packWhole(asShown(field))
  return {
    ...others,
    lists: lists.map(({ tag: _tag, path: _path, item, ...list }) =>
      withoutEmpty({
        ...list,
        columns: list.columns.map(packShown),
        filters: list.filters.map(pack),
        item: item === null ? null : details.findIndex(({ path }) => path === item),
      }),
    ) as PackedModel['lists'],
    details: details.map(({ tag: _tag, path: _path, ...detail }) =>
      withoutEmpty({
        ...detail,
        fields: detail.fields.map(packShown),
        related: detail.related.map(({ path, filter }) => {
          const list = lists.findIndex((each) => each.path === path)
          return filter === null ? [list] : [list, filter]
        }),
      }),
    ) as PackedModel['details'],
    operations: Object.fromEntries(
      Object.entries(operations)
        .map(([id, { secrets, when, sells }]): [string, PackedModel['operations'][string]] => [
          id,
          {
            ...(secrets.length > 0 && { secrets }),
            ...(when !== null && { when }),
            ...(sells && { sells }),
          },
        ])
        .filter(([, hints]) => Object.keys(hints).length > 0),
    ),
    fields,
  }
}

const withoutEmpty = (values: object): object =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)))

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === false ||
  (typeof value === 'object' && Object.keys(value as object).length === 0)

const asFilter = ({ help: _, ...field }: ConsoleField): ConsoleField => ({
  ...field,
  required: false,
  nullable: false,
})

/** A value that is shown needs no choices, and an ID has its own prefix. */
const asShown = ({ values: _, prefix: _prefix, fields, ...field }: ConsoleField): ConsoleField => ({
  ...asFilter(field),
  ...(fields !== undefined && { fields: fields.map(asShown) }),
})

/** `/user/api-keys/{id}` as `user.apiKeys`, with which most names in the client begin. */
const resourceOf = (path: string): string =>
  path
    .replace(/\/\{\w+\}|^\//g, '')
    .replaceAll('/', '.')
    .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())

/** The table of operations as a script: each group of rows that differ only in path and name once. */
export function packTable(rows: Array<[string, { path: string; name?: string; list?: unknown }]>): string {
  const groups = new Map<string, string[]>()
  for (const [id, { path, name, list: _, ...others }] of rows) {
    const key = JSON.stringify(others)
    const resource = `${resourceOf(path)}.`
    const short = name?.startsWith(resource) ? name.slice(resource.length - 1) : name
    groups.set(key, [
      ...(groups.get(key) ?? []),
      [id, path, ...(short === undefined ? [] : [short])].join(' '),
    ])
  }
  const packed = [...groups].map(([key, lines]) => `[${key},${JSON.stringify(lines.join())}]`)
  return `const resourceOf = ${resourceOf}
export const operationTable = Object.fromEntries([${packed.join()}].flatMap(([row, lines]) =>
  lines.split(',').map((line) => {
    const [id, path, name] = line.split(' ')
    return [id, { ...row, path, name: name?.startsWith('.') ? resourceOf(path) + name : name }]
  })))\n`
}

/** The texts, in the same order, are a file of their own: a browser loads them with the first form. */
export function packForms({ operations }: ConsoleModel): { forms: PackedForms; help: PackedHelp } {
  const { fields, helps, pack } = packer()
  const changing = Object.entries(operations).filter(([, { method }]) => method !== 'GET')
  const forms = changing.map(([id, operation]): [string, PackedForms['forms'][string]] => [
    id,
    {
      ...(operation.fields !== null && { fields: stepsOf(operation.fields.map(pack)) }),
      ...(operation.query.length > 0 && { query: stepsOf(operation.query.map(pack)) }),
      ...(operation.choice && { choice: true }),
    },
  ])
  return {
    forms: { forms: Object.fromEntries(forms), fields },
    help: { fields: helps, forms: changing.map(([, { summary }]) => summary) },
  }
}

const stepsOf = (indices: number[]): number[] => indices.map((index, i) => index - (indices[i - 1] ?? 0))

function packer(): {
  fields: PackedField[]
  /** The help text of each field. */
  helps: Array<string | null>
  pack: (field: ConsoleField) => number
} {
  const fields: PackedField[] = []
  const helps: Array<string | null> = []
  const known = new Map<string, number>()
  function pack({ title, kind, required, nullable, help, fields: inner, ...field }: ConsoleField): number {
    const packed: PackedField = {
      ...field,
      ...(kind !== 'text' && { kind }),
      ...(title !== titleOf(field.name) && { title }),
      ...(required && { required }),
      ...(nullable && { nullable }),
      ...(inner !== undefined && { fields: stepsOf(inner.map(pack)) }),
    }
    const key = JSON.stringify([packed, help])
    if (!known.has(key)) {
      known.set(key, fields.push(packed) - 1)
      helps.push(help ?? null)
    }
    return known.get(key)!
  }
  return { fields, helps, pack }
}
