// One property of a schema and the column behind it: in what they disagree.
import type { Check, Column, Database, Place } from './database.ts'

type Json = any

export interface Disagreement {
  says: string
  /** Where it is not the column itself that says otherwise. */
  place?: Place
  /** Whether a reason in words lets it be. */
  excusable: boolean
}

/** @param use whether clients send it, and whether they get it. */
export function disagreements(
  schema: Json,
  column: Column,
  database: Database,
  use: { asked: boolean; answered: boolean },
): Disagreement[] {
  const { nullable, value } = unwrapped(schema)
  const typed = wrongType(value, column, database)
  if (typed !== null) return [{ says: typed, excusable: true }]
  return [
    ...nullability(nullable, column, use),
    ...values(value, column, database, use),
    ...lengths(value, column, use),
    ...ranges(value, column, use),
  ]
}

/** Without the null that it may be. */
function unwrapped(schema: Json): { nullable: boolean; value: Json } {
  const alternatives = (schema.anyOf ?? schema.oneOf ?? []).filter((each: Json) => each.type !== 'null')
  if (alternatives.length === 1 && schema.type === undefined)
    return { nullable: true, value: alternatives[0] }
  const types = [schema.type ?? []].flat()
  const rest = types.filter((type) => type !== 'null')
  return { nullable: types.includes('null'), value: { ...schema, type: rest.length === 1 ? rest[0] : rest } }
}

/** The types of the wire that a column of Prisma's type can be. */
const wire: Record<string, string[]> = {
  String: ['string'],
  Boolean: ['boolean'],
  Int: ['integer'],
  BigInt: ['integer'],
  Float: ['number'],
  Decimal: ['number', 'string'],
  DateTime: ['string'],
  Json: ['object', 'array'],
  Bytes: ['string'],
}

function wrongType(
  { type, format, items, $ref }: Json,
  { type: kept, list, native }: Column,
  { enums }: Database,
): string | null {
  // Of what is only a reference among alternatives nothing is known here but that it is there.
  if ($ref !== undefined || type === undefined) return null
  const named = `${kept}${list ? '[]' : ''}`
  if (list !== (type === 'array') && kept !== 'Json') return `is ${type}, the column ${named}`
  if (list)
    return wire[enums.has(kept) ? 'String' : kept]?.includes(items?.type ?? wire[kept]?.[0]) === false
      ? `is a list of ${items.type}, the column ${named}`
      : null
  if (enums.has(kept)) return type === 'string' ? null : `is ${type}, the column ${named}`
  if (wire[kept]?.includes(type) !== true) return `is ${type}, the column ${named}`
  const wanted = native === 'Date' ? 'date' : 'date-time'
  if (kept === 'DateTime' && format !== wanted)
    return `has ${format === undefined ? 'no format' : `the format ${format}`}, the column is a ${native === 'Date' ? 'date' : 'time'}: ${wanted}`
  if (kept !== 'DateTime' && (format === 'date-time' || format === 'date'))
    return `is a ${format}, the column ${named}`
  return null
}

function nullability(
  nullable: boolean,
  column: Column,
  { asked, answered }: { asked: boolean; answered: boolean },
): Disagreement[] {
  if (answered && column.nullable && !nullable)
    return [{ says: 'is never null, the column may be', excusable: true }]
  if (answered && !column.nullable && nullable)
    return [{ says: 'may be null, the column never is', excusable: true }]
  if (asked && !column.nullable && nullable)
    return [{ says: 'takes null, the column does not', excusable: true }]
  return []
}

function values(
  { enum: said }: Json,
  column: Column,
  { enums }: Database,
  { answered }: { answered: boolean },
): Disagreement[] {
  const declared = enums.get(column.type)
  const checked = column.checks.find((check): check is Check & { values: string[] } => 'values' in check)
  const kept = declared?.values ?? checked?.values
  const place = declared ?? checked
  if (kept === undefined) return []
  if (said === undefined)
    return [{ says: `is any text, the column one of ${kept.join(', ')}`, place, excusable: true }]
  const told: string[] = said.filter((value: Json) => value !== null)
  const unknown = told.filter((value) => !kept.includes(value))
  const missing = answered ? kept.filter((value) => !told.includes(value)) : []
  return [
    ...(unknown.length > 0
      ? [{ says: `may be ${unknown.join(', ')}, the column never`, place, excusable: true }]
      : []),
    ...(missing.length > 0
      ? [{ says: `is never ${missing.join(', ')}, the column may be`, place, excusable: true }]
      : []),
  ]
}

function lengths(
  { maxLength, type }: Json,
  column: Column,
  { asked, answered }: { asked: boolean; answered: boolean },
): Disagreement[] {
  const checked = column.checks.find((check): check is Check & { longest: number } => 'longest' in check)
  const most = checked?.longest ?? Number(/^(?:VarChar|Char)\((\d+)\)$/.exec(column.native ?? '')?.[1] ?? NaN)
  if (Number.isNaN(most) || type !== 'string') return []
  if (asked && (maxLength ?? Infinity) > most)
    return [
      {
        says: `takes ${maxLength === undefined ? 'a text of any length' : `${maxLength} characters`}, the column ${most}`,
        place: checked,
        excusable: true,
      },
    ]
  if (answered && maxLength !== undefined && maxLength < most)
    return [
      { says: `has ${maxLength} characters at most, the column ${most}`, place: checked, excusable: true },
    ]
  return []
}

const widths: Record<string, [least: number, most: number]> = {
  Int: [-(2 ** 31), 2 ** 31 - 1],
  SmallInt: [-(2 ** 15), 2 ** 15 - 1],
  // What JSON numbers hold exactly.
  BigInt: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
}

function ranges(
  { type, minimum = -Infinity, maximum = Infinity }: Json,
  column: Column,
  { asked }: { asked: boolean },
): Disagreement[] {
  if (!asked || type !== 'integer') return []
  const [narrowest, widest] = widths[column.native ?? ''] ?? widths[column.type] ?? [-Infinity, Infinity]
  const least = column.checks.find((check): check is Check & { least: number } => 'least' in check)
  const most = column.checks.find((check): check is Check & { most: number } => 'most' in check)
  const lowest = least?.least ?? narrowest
  const highest = most?.most ?? widest
  return [
    ...(minimum < lowest
      ? [
          {
            says: `takes ${minimum === -Infinity ? 'any small number' : minimum}, the column ${lowest} at least`,
            place: least,
            excusable: true,
          },
        ]
      : []),
    ...(maximum > highest
      ? [
          {
            says: `takes ${maximum === Infinity ? 'any large number' : maximum}, the column ${highest} at most`,
            place: most,
            excusable: true,
          },
        ]
      : []),
  ]
}
