// Writes the types of the client package from the published document, in the form of openapi-typescript,
// which itself needs the TypeScript compiler: 42 MB that a server does not have. A test compares the two.
type Json = any

interface Type {
  text: string
  /** A union or an intersection is in parentheses inside another type. */
  kind?: 'union' | 'intersection'
  /** The schema that the type is, or else the first one among its parts; it describes a property. */
  schema?: string
}

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
/** The parts of an operation's parameters, and the end of the type's name. */
export const parameterTypes = { query: 'Query', header: 'Headers', path: 'Path' } as const
const never: Type = { text: 'never' }

/** @param document the OpenAPI document that the server publishes. */
export function clientTypes(document: Json): string {
  const { schemas = {}, responses, parameters, requestBodies, headers, pathItems } = document.components ?? {}
  const named: string[] = []
  const operations: string[] = []

  const components = block([
    member('schemas', membersOf(schemas, namedSchema)),
    member('responses', membersOf(responses, response)),
    member(
      'parameters',
      membersOf(parameters, ({ schema }) => typeOf(schema)),
    ),
    member('requestBodies', membersOf(requestBodies, requestBody)),
    member(
      'headers',
      membersOf(headers, ({ schema }) => typeOf(schema)),
    ),
    member(
      'pathItems',
      membersOf(pathItems, (item) => pathItem(item)),
    ),
  ])
  const paths = block(
    Object.entries<Json>(document.paths).map(([path, item]) => member(path, pathItem(item))),
  )
  const webhooks = Object.entries<Json>(document.webhooks ?? {}).map(([name, item]) =>
    member(name, pathItem(item, false)),
  )
  return [
    '// The types of the API, written from its OpenAPI document.',
    '/* eslint-disable */',
    `export interface paths ${paths.text}`,
    webhooks.length === 0
      ? 'export type webhooks = Record<string, never>;'
      : `export interface webhooks ${block(webhooks).text}`,
    `export interface components ${components.text}`,
    'export type $defs = Record<string, never>;',
    `export interface operations ${block(operations).text}`,
    ...named,
    '',
  ].join('\n')

  function namedSchema(schema: Json, component: string): Type {
    const union = component === 'PlatformEvent' ? Object.values<Json>(document.webhooks ?? {}) : []
    const events = union.map(({ post }) =>
      reference(post.requestBody.content['application/json'].schema.$ref),
    )
    return declare(
      typeNameOf(component),
      events.length > 0 ? unionOf(events) : typeOf(schema),
      commentOf(schema),
    )
  }

  function declare(name: string, { text, kind }: Type, comment = ''): Type {
    const isObject = kind === undefined && text.startsWith('{') && text.endsWith('}')
    named.push(`${comment}export ${isObject ? `interface ${name} ${text}` : `type ${name} = ${text};`}`)
    return { text: name }
  }

  function pathItem(item: Json, names = true): Type {
    const own = methods.map((method) => {
      const operation = item[method]
      // The client calls the PUT of an operation that also has PATCH.
      if (operation === undefined || operation['x-same-as'] !== undefined)
        return member(method, never, { optional: true })
      const id = names ? operation.operationId : undefined
      const all = new Map([...(item.parameters ?? []), ...(operation.parameters ?? [])].map(keyed))
      const type = operationType({ ...operation, parameters: [...all.values()] }, id)
      if (id === undefined) return member(method, type, { of: operation })
      operations.push(member(id, type))
      return member(method, { text: `operations[${JSON.stringify(id)}]` }, { of: operation })
    })
    return block([parametersOf(item.parameters ?? []), ...own])
  }

  function keyed(parameter: Json): [string, Json] {
    const { in: place, name } = resolved(parameter)
    return [`${place} ${name}`, parameter]
  }

  function operationType(
    { parameters: all, requestBody: body, responses: answers }: Json,
    id?: string,
  ): Type {
    return block([
      parametersOf(all, id),
      body === undefined
        ? member('requestBody', never, { optional: true })
        : member('requestBody', requestBody(body), { optional: resolved(body).required !== true, of: body }),
      member('responses', membersOf(answers, response)),
    ])
  }

  /** @param id the operation whose parameters get types with names. */
  function parametersOf(all: Json[], id?: string): string {
    const lists = [...Object.keys(parameterTypes), 'cookie'].map((place) => {
      const own = all.map((node) => ({ node, ...resolved(node) })).filter((one) => one.in === place)
      const isOptional = (one: Json): boolean => place !== 'path' && one.required !== true
      const members = own.map((one) =>
        member(one.name, one.node.$ref === undefined ? typeOf(one.schema) : reference(one.node.$ref), {
          optional: isOptional(one),
          of: one,
        }),
      )
      if (own.length === 0) return member(place, never, { optional: true })
      const type = block(members)
      const isNamed = id !== undefined && isParameterPlace(place)
      return member(place, isNamed ? declare(parametersTypeOf(id, place), type) : type, {
        optional: own.every(isOptional),
      })
    })
    return member('parameters', block(lists))
  }

  function requestBody(body: Json): Type {
    if (body.$ref !== undefined) return reference(body.$ref)
    return block([
      member(
        'content',
        membersOf(body.content, ({ schema }) => typeOf(schema)),
      ),
    ])
  }

  function response(answer: Json): Type {
    if (answer.$ref !== undefined) return reference(answer.$ref)
    const fields = Object.entries<Json>(answer.headers ?? {}).map(([name, header]) =>
      member(name, header.$ref === undefined ? typeOf(header.schema) : reference(header.$ref), {
        optional: header.$ref === undefined && header.required !== true,
        of: header,
      }),
    )
    return block([
      member('headers', block([...fields, '[name: string]: unknown;'])),
      answer.content === undefined
        ? member('content', never, { optional: true })
        : member(
            'content',
            membersOf(answer.content, ({ schema }) => typeOf(schema)),
          ),
    ])
  }

  /** A comment, the name and the type; without a comment of its own the comment of the type's schema. */
  function member(
    name: string,
    type: Type,
    { optional = false, of = {} }: { optional?: boolean; of?: Json } = {},
  ) {
    const described = type.schema === undefined ? undefined : schemas[type.schema]?.description
    const comment = commentOf(of) || (described === undefined ? '' : `/** ${safe(described.trim())} */\n`)
    return `${comment}${keyOf(name)}${optional ? '?' : ''}: ${type.text};`
  }

  function membersOf(items: Record<string, Json> = {}, type: (item: Json, name: string) => Type): Type {
    const all = Object.entries(items)
    if (all.length === 0) return never
    return block(all.map(([name, item]) => member(name, type(item, name), { of: item })))
  }

  function typeOf(schema: Json): Type {
    if (schema === undefined || schema === false) return never
    if (schema === true) return { text: 'unknown' }
    if (schema.$ref !== undefined) return reference(schema.$ref)
    if (schema.const !== undefined) return literal(schema.const)
    const { enum: values, type, anyOf = [], oneOf = [], allOf = [] } = schema
    if (values !== undefined)
      return unionOf(
        [...values, ...(type?.includes?.('null') && !values.includes(null) ? [null] : [])].map(literal),
      )
    const own = core(schema)
    const parts = [...(own === null ? [] : [own]), ...allOf.map(typeOf)]
    const whole = parts.length === 0 ? [] : [intersectionOf(parts)]
    const any = anyOf.length === 0 ? whole : [unionOf([...whole, ...alternatives(anyOf)])]
    if (oneOf.length > 0) {
      const one = unionOf(withExcluded(oneOf).map(typeOf))
      return any.length === 0 ? one : intersectionOf([...any, one])
    }
    return any[0] ?? { text: type === undefined ? 'unknown' : 'Record<string, never>' }
  }

  /** A text or number beside an enum stands for values of later versions: editors keep the known ones. */
  function alternatives(anyOf: Json[]): Type[] {
    return anyOf.map((one, i) => {
      const isOpen = i > 0 && resolved(anyOf[i - 1]).enum !== undefined && one.enum === undefined
      return isOpen && ['string', 'number', 'integer'].includes(one.type)
        ? intersectionOf([core({ type: one.type })!, { text: '{}' }])
        : typeOf(one)
    })
  }

  /** The type without `anyOf`, `oneOf` and `allOf`; null without one. */
  function core(schema: Json): Type | null {
    const { type, properties = {}, required = [], additionalProperties: others, items } = schema
    if (Array.isArray(type)) return unionOf(type.map((one: string) => typeOf({ ...schema, type: one })))
    if (type === 'integer') return { text: 'number' }
    if (['string', 'number', 'boolean', 'null'].includes(type)) return { text: type }
    if (type === 'array') return arrayOf(items === undefined ? { text: 'unknown' } : typeOf(items))
    const members = Object.entries<Json>(properties).map(([name, property]) =>
      member(name, typeOf(property), { optional: !required.includes(name), of: property }),
    )
    const isOpen = others === true || (typeof others === 'object' && Object.keys(others).length === 0)
    const index = isOpen ? { text: 'unknown' } : others ? typeOf(others) : null
    const parts = [
      ...(members.length === 0 ? [] : [block(members)]),
      ...(index === null ? [] : [block([`[key: string]: ${index.text};`])]),
    ]
    return parts.length === 0 ? null : intersectionOf(parts)
  }

  function resolved(node: Json): Json {
    if (node?.$ref === undefined) return node
    const [, , kind, name] = node.$ref.split('/')
    return document.components[kind][name]
  }
}

/**
 * Closed alternatives exclude each other: each gets the properties of the others as `never`, so that an
 * object with both does not compile.
 */
function withExcluded(alternatives: Json[]): Json[] {
  if (!alternatives.every((one) => one.properties !== undefined && one.additionalProperties === false))
    return alternatives
  const order: string[] = []
  for (const { properties } of alternatives) {
    const names = Object.keys(properties)
    for (const [i, name] of names.entries()) {
      if (order.includes(name)) continue
      const next = names.slice(i).find((one) => order.includes(one))
      order.splice(next === undefined ? order.length : order.indexOf(next), 0, name)
    }
  }
  return alternatives.map((one) => ({
    ...one,
    properties: Object.fromEntries(order.map((name) => [name, one.properties[name] ?? false])),
  }))
}

function reference(ref: string): Type {
  const [, , kind, name] = ref.split('/')
  if (kind === 'schemas') return { text: typeNameOf(name), schema: name }
  return { text: `components[${JSON.stringify(kind)}][${JSON.stringify(name)}]` }
}

function literal(value: unknown): Type {
  return { text: JSON.stringify(value) }
}

function unionOf(types: Type[]): Type {
  return joined(types, 'union', ' | ')
}

function intersectionOf(types: Type[]): Type {
  return joined(types, 'intersection', ' & ')
}

function joined(types: Type[], kind: 'union' | 'intersection', separator: string): Type {
  if (types.length === 1) return types[0]
  const texts = new Set(types.map(inner))
  return { text: [...texts].join(separator), kind, schema: types.find(({ schema }) => schema)?.schema }
}

function arrayOf(type: Type): Type {
  return { text: `${inner(type)}[]`, schema: type.kind === undefined ? type.schema : undefined }
}

function inner({ text, kind }: Type): string {
  return kind === undefined ? text : `(${text})`
}

function block(members: string[]): Type {
  return { text: `{\n${members.map((text) => text.replace(/^(?=.)/gm, '    ')).join('\n')}\n}` }
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$|^(?:0|[1-9]\d*)$/.test(name) ? name : JSON.stringify(name)
}

function commentOf(node: Json): string {
  const lines = [
    node.title,
    node.summary,
    node.format && `Format: ${node.format}`,
    node.deprecated && '@deprecated',
    node.description,
    node.default !== undefined && `@default ${printed(node.default)}`,
    ...[...(node.example === undefined ? [] : [node.example]), ...(node.examples ?? [])].map(
      (example: unknown) => `@example ${printed(example)}`,
    ),
    node.const !== undefined && '@constant',
    node.enum && `@enum {${[node.type ?? 'unknown'].flat().join('|')}}`,
  ].flatMap((line) => (line ? [safe(line.trim().replace(/\r?\n/g, '\n *     '))] : []))
  if (lines.length === 0) return ''
  if (lines.length === 1 && !lines[0].includes('\n')) return `/** ${lines[0]} */\n`
  return `/**\n * ${lines.join('\n * ').replace(/ +$/gm, '')}\n */\n`
}

function printed(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}

function safe(text: string): string {
  return text.replaceAll('*/', '*\\/')
}

/** The name of a component as a type: `Role-2` becomes `Role2`. */
export function typeNameOf(component: string): string {
  return capital(component.replace(/[^\w$]/g, ''))
}

/** The name of the type of an operation's parameters, as `ListProjectsQuery`. */
export function parametersTypeOf(operationId: string, place: keyof typeof parameterTypes): string {
  return `${capital(operationId)}${parameterTypes[place]}`
}

function isParameterPlace(place: string): place is keyof typeof parameterTypes {
  return place in parameterTypes
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
