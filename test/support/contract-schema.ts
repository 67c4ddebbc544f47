// What the published contract says of an operation's body, parameters and answers, with the references followed.
import contract from '../../generated/openapi.json' with { type: 'json' }
import { operations, type OperationId } from '../../generated/operations.ts'

export interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
  enum?: string[]
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  maxItems?: number
  const?: unknown
}
export interface Parameter {
  name: string
  in: string
  schema: Schema
}

function followed(node: any): any {
  if (node?.$ref === undefined) return node
  const [, ...path] = (node.$ref as string).split('/')
  return followed(path.reduce((at: any, name) => at[name], contract))
}

function declared(id: OperationId): any {
  for (const [path, item] of Object.entries<any>(contract.paths)) {
    const operation = item[operations[id].method.toLowerCase()]
    if (operation?.operationId === id)
      return { ...operation, parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])], path }
  }
  throw new Error(`the contract has no operation ${id}`)
}

/** The schema of the body, JSON or a form; its properties are resolved, and theirs one level on. */
export function bodyOf(id: OperationId, { form = false } = {}): Schema {
  const { content } = declared(id).requestBody
  const type = form ? 'multipart/form-data' : operations[id].body!.contentTypes[0]
  return flat(content[type].schema)
}

export function replyOf(id: OperationId, status: number): Schema | null {
  const content = followed(declared(id).responses[status])?.content?.['application/json']
  return content === undefined ? null : flat(content.schema)
}

/** The header fields that an answer declares, with their schemas. */
export function headersOf(id: OperationId, status: number): Array<[name: string, schema: Schema]> {
  const headers = followed(declared(id).responses[status])?.headers ?? {}
  return Object.entries(headers).map(([name, header]) => [name, followed(followed(header).schema)])
}

/** The parameters of the query. */
export function queryOf(id: OperationId): Parameter[] {
  return declared(id)
    .parameters.map(followed)
    .filter((p: Parameter) => p.in === 'query')
    .map((p: Parameter) => ({ ...p, schema: followed(p.schema) }))
}

/** The lists that go on after what was seen, instead of by pages. */
export const cursorLists = Object.values(operations)
  .filter(
    (info) =>
      info.produces[0] === 'application/json' &&
      queryOf(info.id as OperationId).some(({ name }) => name === 'after'),
  )
  .map(({ id }) => id as OperationId)

export function allows(schema: Schema, type: string): boolean {
  return [schema.type].flat().includes(type)
}

/** Whether it is a form's file. */
export function isFile(schema: Schema): boolean {
  return schema.format === 'binary'
}

/** Whether any text will do: no list, no form, no pattern but that it is not blank. */
export function isFreeText(schema: Schema): boolean {
  return (
    allows(schema, 'string') &&
    schema.enum === undefined &&
    schema.format === undefined &&
    (schema.pattern === undefined || schema.pattern === '\\S')
  )
}

function flat(node: unknown, depth = 3): Schema {
  const schema = followed(node)
  if (depth === 0) return schema
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, value]) => [name, flat(value, depth - 1)]),
      ),
    }),
    ...(schema.items && { items: flat(schema.items, depth - 1) }),
  }
}
