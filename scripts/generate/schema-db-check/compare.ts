// Compares one property of a schema with its column.
import type { Check, Column, Database, Place } from './database.ts'

type Json = any

export interface Mismatch {
  message: string
  /** The place of an enum or a CHECK constraint; else the column's place applies. */
  place?: Place
}

interface Use {
  inRequests: boolean
  inResponses: boolean
  /** Whether a request that creates a row may leave out the property. */
  optionalToCreate: boolean
}

export function compareColumn(schema: Json, column: Column, database: Database, use: Use): Mismatch[] {
  const { nullable, value } = unwrapped(schema)
  const typed = wrongType(value, column, database)
  if (typed !== null) return [{ message: typed }]
  return [
    ...nullability(nullable, column, use),
    ...absence(value, column, use),
    ...values(value, column, database, use),
    ...lengths(value, column, use),
    ...ranges(value, column, use),
  ]
}

/** The schema without null. */
export function unwrapped(schema: Json): { nullable: boolean; value: Json } {
  const alternatives = (schema.anyOf ?? schema.oneOf ?? []).filter((each: Json) => each.type !== 'null')
  if (alternatives.length === 1 && schema.type === undefined)
    return { nullable: true, value: alternatives[0] }
  // The alternatives of a discriminator are objects.
  const types = [schema.type ?? (schema.discriminator === undefined ? [] : 'object')].flat()
  const rest = types.filter((type) => type !== 'null')
  return { nullable: types.includes('null'), value: { ...schema, type: rest.length === 1 ? rest[0] : rest } }
}

/** The JSON types that a column of a Prisma type can have. */
const jsonTypes: Record<string, string[]> = {
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
  { type: columnType, list, native }: Column,
  { enums }: Database,
): string | null {
  // The type of a reference among alternatives is not known here.
  if ($ref !== undefined || type === undefined) return null
  const named = `${columnType}${list ? '[]' : ''}`
  const mismatch = `is ${type}, the column is ${named}`
  if (list !== (type === 'array') && columnType !== 'Json') return mismatch
  if (list) {
    const allowed = jsonTypes[enums.has(columnType) ? 'String' : columnType]
    return allowed?.includes(items?.type ?? jsonTypes[columnType]?.[0]) === false
      ? `is a list of ${items.type}, the column is ${named}`
      : null
  }
  if (enums.has(columnType)) return type === 'string' ? null : mismatch
  if (jsonTypes[columnType]?.includes(type) !== true) return mismatch
  if (columnType === 'BigInt' && format === 'int32') return `is an int32, the column is ${named}`
  const wanted = native === 'Date' ? 'date' : 'date-time'
  if (columnType === 'DateTime' && format !== wanted)
    return `has ${format === undefined ? 'no format' : `the format ${format}`}, the column needs ${wanted}`
  if (columnType !== 'DateTime' && (format === 'date-time' || format === 'date'))
    return `is a ${format}, the column is ${named}`
  return null
}

function nullability(nullable: boolean, column: Column, { inRequests, inResponses }: Use): Mismatch[] {
  if (inResponses && column.nullable && !nullable) return [{ message: 'is not nullable, the column is' }]
  if (inResponses && !column.nullable && nullable) return [{ message: 'is nullable, the column is not' }]
  if (inRequests && !column.nullable && nullable) return [{ message: 'accepts null, the column does not' }]
  return []
}

function absence({ default: value }: Json, column: Column, { optionalToCreate }: Use): Mismatch[] {
  if (!optionalToCreate || value !== undefined || column.nullable || column.hasDefault) return []
  return [
    {
      message:
        'may be left out, the column is NOT NULL without a default: ' +
        'add it to `required`, or a `default`, or say in x-when-omitted what the server stores',
    },
  ]
}

function values(
  { enum: schemaEnum }: Json,
  column: Column,
  { enums }: Database,
  { inResponses }: Use,
): Mismatch[] {
  const declared = enums.get(column.type)
  const checked = column.checks.find((check): check is Check & { values: string[] } => 'values' in check)
  const columnValues = declared?.values ?? checked?.values
  const place = declared ?? checked
  if (columnValues === undefined) return []
  if (schemaEnum === undefined)
    return [{ message: `allows any text, the column only ${columnValues.join(', ')}`, place }]
  const schemaValues: string[] = schemaEnum.filter((value: Json) => value !== null)
  const unknown = schemaValues.filter((value) => !columnValues.includes(value))
  const missing = inResponses ? columnValues.filter((value) => !schemaValues.includes(value)) : []
  return [
    ...(unknown.length > 0 ? [{ message: `allows ${unknown.join(', ')}, the column does not`, place }] : []),
    ...(missing.length > 0
      ? [{ message: `does not allow ${missing.join(', ')}, the column does`, place }]
      : []),
  ]
}

function lengths({ maxLength, type }: Json, column: Column, { inRequests, inResponses }: Use): Mismatch[] {
  const checked = column.checks.find((check): check is Check & { maxLength: number } => 'maxLength' in check)
  const native = Number(/^(?:VarChar|Char)\((\d+)\)$/.exec(column.native ?? '')?.[1] ?? NaN)
  const columnLength = checked?.maxLength ?? native
  if (Number.isNaN(columnLength) || type !== 'string') return []
  const tooLong = inRequests && (maxLength ?? Infinity) > columnLength
  const tooShort = inResponses && maxLength !== undefined && maxLength < columnLength
  if (!tooLong && !tooShort) return []
  return [
    {
      message:
        `has ${maxLength === undefined ? 'no maxLength' : `maxLength ${maxLength}`}, ` +
        `the column ${columnLength}`,
      place: checked,
    },
  ]
}

const columnRanges: Record<string, [min: number, max: number]> = {
  Int: [-(2 ** 31), 2 ** 31 - 1],
  SmallInt: [-(2 ** 15), 2 ** 15 - 1],
  // The integers that a JSON number represents exactly.
  BigInt: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
}

function ranges(
  { type, minimum = -Infinity, maximum = Infinity }: Json,
  column: Column,
  { inRequests }: Use,
): Mismatch[] {
  if (!inRequests || type !== 'integer') return []
  const range = columnRanges[column.native ?? ''] ?? columnRanges[column.type] ?? [-Infinity, Infinity]
  const minCheck = column.checks.find((check): check is Check & { min: number } => 'min' in check)
  const maxCheck = column.checks.find((check): check is Check & { max: number } => 'max' in check)
  const columnMin = minCheck?.min ?? range[0]
  const columnMax = maxCheck?.max ?? range[1]
  const described = (keyword: string, value: number): string =>
    Number.isFinite(value) ? `${keyword} ${value}` : `no ${keyword}`
  return [
    ...(minimum < columnMin
      ? [{ message: `has ${described('minimum', minimum)}, the column ${columnMin}`, place: minCheck }]
      : []),
    ...(maximum > columnMax
      ? [{ message: `has ${described('maximum', maximum)}, the column ${columnMax}`, place: maxCheck }]
      : []),
  ]
}
