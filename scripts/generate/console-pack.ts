// The model of the console as two small files: one for all pages, one for forms. Each names a field once and
// refers to it by its index. Titles that follow from names, and values that are false, are left out.
import type {
  ConsoleField,
  ConsoleModel,
  PackedField,
  PackedForms,
  PackedModel,
} from '../../packages/console/model-types.ts'
import { titleOf } from '../../packages/console/titles.ts'

export function packModel({ lists, details, operations, ...others }: ConsoleModel): PackedModel {
  const { fields, pack } = packer()
  return {
    ...others,
    lists: lists.map(({ tag: _, ...list }) => ({
      ...list,
      columns: list.columns.map(pack),
      filters: list.filters.map(pack),
    })),
    details: details.map(({ tag: _, ...detail }) => ({
      ...detail,
      fields: detail.fields.map(pack),
      related: detail.related.map(({ path, filter }) => (filter === null ? [path] : [path, filter])),
    })),
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

/** The texts are a file of their own: a browser loads them with the first form. */
export function packForms({ operations }: ConsoleModel): { forms: PackedForms; help: string[] } {
  const help: string[] = []
  const indexOf = (text: string): number => {
    if (!help.includes(text)) help.push(text)
    return help.indexOf(text)
  }
  const { fields, pack } = packer(indexOf)
  const forms = Object.entries(operations)
    .filter(([, operation]) => operation.method !== 'GET')
    .map(([id, operation]): [string, PackedForms['forms'][string]] => [
      id,
      {
        summary: indexOf(operation.summary),
        ...(operation.fields !== null && { fields: operation.fields.map(pack) }),
        ...(operation.query.length > 0 && { query: operation.query.map(pack) }),
        ...(operation.choice && { choice: true }),
      },
    ])
  return { forms: { forms: Object.fromEntries(forms), fields }, help }
}

/** @param helpOf stores a help text. */
function packer(helpOf: (text: string) => number | undefined = () => undefined): {
  fields: PackedField[]
  pack: (field: ConsoleField) => number
} {
  const fields: PackedField[] = []
  const known = new Map<string, number>()
  function pack({ title, required, nullable, help, fields: inner, ...field }: ConsoleField): number {
    const packed: PackedField = {
      ...field,
      ...(help !== undefined && { help: helpOf(help) }),
      ...(title !== titleOf(field.name) && { title }),
      ...(required && { required }),
      ...(nullable && { nullable }),
      ...(inner !== undefined && { fields: inner.map(pack) }),
    }
    const key = JSON.stringify(packed)
    if (!known.has(key)) known.set(key, fields.push(packed) - 1)
    return known.get(key)!
  }
  return { fields, pack }
}
