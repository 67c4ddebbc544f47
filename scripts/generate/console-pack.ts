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
    lists: lists.map((list) => ({
      ...list,
      columns: list.columns.map(pack),
      filters: list.filters.map(pack),
    })),
    details: details.map((detail) => ({ ...detail, fields: detail.fields.map(pack) })),
    operations: Object.fromEntries(
      Object.entries(operations).map(([id, { summary, secrets, when, sells }]) => [
        id,
        {
          summary,
          ...(secrets.length > 0 && { secrets }),
          ...(when !== null && { when }),
          ...(sells && { sells }),
        },
      ]),
    ),
    fields,
  }
}

export function packForms({ operations }: ConsoleModel): PackedForms {
  const { fields, pack } = packer()
  const forms = Object.entries(operations)
    .filter(([, operation]) => operation.fields !== null || operation.query.length > 0)
    .map(([id, operation]): [string, PackedForms['forms'][string]] => [
      id,
      {
        fields: operation.fields?.map(pack) ?? null,
        ...(operation.query.length > 0 && { query: operation.query.map(pack) }),
        ...(operation.choice && { choice: true }),
      },
    ])
  return { forms: Object.fromEntries(forms), fields }
}

function packer(): { fields: PackedField[]; pack: (field: ConsoleField) => number } {
  const fields: PackedField[] = []
  const known = new Map<string, number>()
  function pack({ title, required, nullable, fields: inner, ...field }: ConsoleField): number {
    const packed: PackedField = {
      ...field,
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
