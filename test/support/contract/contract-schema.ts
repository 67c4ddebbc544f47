// Reads the schemas of an operation's body, parameters and responses from the published contract.
import contract from '../../../generated/openapi.json' with { type: 'json' }
import { operations, type OperationId } from '../../../generated/operations.ts'

export interface Schema {
  discriminator?: { propertyName: string }
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
  oneOf?: Schema[]
  anyOf?: Schema[]
}
export interface Parameter {
  name: string
  in: string
  schema: Schema
}

function dereferenced(node: any): any {
  if (node?.$ref === undefined) return node
  const [, ...path] = (node.$ref as string).split('/')
  return dereferenced(path.reduce((at: any, name) => at[name], contract))
}

/** Whether the operation answers with a stream that goes on until the client leaves: no `x-stream-ends`. */
export function isEndless(id: OperationId): boolean {
  const media = dereferenced(declarationOf(id).responses['200'])?.content?.['text/event-stream']
  return media !== undefined && media['x-stream-ends'] === undefined
}

function declarationOf(id: OperationId): any {
  for (const [path, item] of Object.entries<any>(contract.paths)) {
    const operation = item[operations[id].method.toLowerCase()]
    if (operation?.operationId === id)
      return { ...operation, parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])], path }
  }
  throw new Error(`the contract has no operation ${id}`)
}

/** The schema of the JSON or form body, with references resolved three levels deep. */
export function bodyOf(id: OperationId, { form = false } = {}): Schema {
  const { content } = declarationOf(id).requestBody
  const type = form ? 'multipart/form-data' : operations[id].body!.contentTypes[0]
  return withAllProperties(expanded(content[type].schema))
}

/** A union of objects as one object: with the properties of all, and what all require. */
function withAllProperties({ oneOf, ...schema }: Schema): Schema {
  if (oneOf === undefined) return schema
  return {
    ...schema,
    type: 'object',
    properties: Object.assign({}, ...oneOf.map((one: Schema) => expanded(one).properties)),
    required: oneOf[0].required?.filter((name) => oneOf.every(({ required }) => required?.includes(name))),
  }
}

export function replyOf(id: OperationId, status: number): Schema | null {
  const content = dereferenced(declarationOf(id).responses[status])?.content?.['application/json']
  return content === undefined ? null : expanded(content.schema)
}

/** A header that a response declares. */
export interface DeclaredHeader {
  name: string
  required: boolean
  schema: Schema
}

export function headersOf(id: OperationId, status: number): DeclaredHeader[] {
  const headers = dereferenced(declarationOf(id).responses[status])?.headers ?? {}
  return Object.entries(headers).map(([name, node]) => {
    const { required = false, schema } = dereferenced(node)
    return { name, required, schema: dereferenced(schema) }
  })
}

/** The query parameters. */
export function queryOf(id: OperationId): Parameter[] {
  return declarationOf(id)
    .parameters.map(dereferenced)
    .filter((p: Parameter) => p.in === 'query')
    .map((p: Parameter) => ({ ...p, schema: dereferenced(p.schema) }))
}

/** The lists that only a cursor continues. */
export const cursorLists = Object.values(operations)
  .filter(
    (info) =>
      // The items of a folder are no log: see test/storage/items.test.ts.
      info.id !== 'listStorageItems' &&
      info.produces[0] === 'application/json' &&
      !info.paged &&
      queryOf(info.id as OperationId).some(({ name }) => name === 'cursor'),
  )
  .map(({ id }) => id as OperationId)

export function allows(schema: Schema, type: string): boolean {
  return [schema.type].flat().includes(type)
}

/** Whether the property is the file of a form. */
export function isFile(schema: Schema): boolean {
  return schema.format === 'binary'
}

/** Whether the schema accepts any text: no enum, no format, and no pattern except `\S`. */
export function isFreeText(schema: Schema): boolean {
  return (
    allows(schema, 'string') &&
    schema.enum === undefined &&
    schema.format === undefined &&
    (schema.pattern === undefined || schema.pattern === '\\S')
  )
}

function expanded(node: unknown, depth = 3): Schema {
  const schema = dereferenced(node)
  if (depth === 0) return schema
  return {
    ...schema,
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, value]) => [name, expanded(value, depth - 1)]),
      ),
    }),
    ...(schema.items && { items: expanded(schema.items, depth - 1) }),
  }
}
