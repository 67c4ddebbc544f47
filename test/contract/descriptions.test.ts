// Documentation coverage: every operation, parameter, property and tag has a description.
// Each test lists the JSON pointers of the places that lack one.
import t from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { methods } from '../../packages/openapi/methods.ts'
import { resolve } from '../../packages/openapi/resolve.ts'

type Json = any
type Place = { pointer: string; node: Json }

const hasText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

/** A reference may have its own description. Otherwise the description of its target counts. */
function isDescribed(node: Json): boolean {
  if (hasText(node.description)) return true
  return node.$ref !== undefined && isDescribed(resolve(contract, { $ref: node.$ref }))
}

function child({ pointer }: Place, node: Json, ...path: Array<string | number>): Place {
  const keys = path.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))
  return { pointer: [pointer, ...keys].join('/'), node }
}

/** The values of a map or list at `path` inside the place, each with its own pointer. */
function children(place: Place, ...path: string[]): Place[] {
  const found = path.reduce((node, key) => node?.[key], place.node)
  return Object.entries<Json>(found ?? {}).map(([key, node]) => child(place, node, ...path, key))
}

const document: Place = { pointer: '#', node: contract }
const pathItems = [...children(document, 'paths'), ...children(document, 'webhooks')]
const operations = pathItems.flatMap((item) =>
  methods.filter((method) => item.node[method]).map((method) => child(item, item.node[method], method)),
)

const parameters = [
  ...[...pathItems, ...operations].flatMap((place) => children(place, 'parameters')),
  ...children(document, 'components', 'parameters'),
]

/** Bodies and responses, whether they are inline or components. */
const messages = [
  ...operations.flatMap(({ pointer, node }) =>
    node.requestBody === undefined ? [] : [{ pointer: `${pointer}/requestBody`, node: node.requestBody }],
  ),
  ...operations.flatMap((operation) => children(operation, 'responses')),
  ...children(document, 'components', 'responses'),
  ...children(document, 'components', 'requestBodies'),
]
const media = messages.flatMap((message) => children(message, 'content'))

const schemas = [
  ...children(document, 'components', 'schemas'),
  ...[...parameters, ...media]
    .filter(({ node }) => node.schema !== undefined)
    .map((place) => child(place, place.node.schema, 'schema')),
  ...media.flatMap((place) => children(place, 'x-stream-events')),
]

/** All properties of a schema and of its nested schemas. References are not followed. */
function propertiesOf(schema: Place): Place[] {
  const own = children(schema, 'properties')
  const nested = [
    ...own,
    ...['allOf', 'oneOf', 'anyOf', 'prefixItems', 'patternProperties'].flatMap((key) =>
      children(schema, key),
    ),
    ...['items', 'additionalProperties', 'not', 'if', 'then', 'else']
      .filter((key) => typeof schema.node[key] === 'object')
      .map((key) => child(schema, schema.node[key], key)),
  ]
  return [...own, ...nested.flatMap(propertiesOf)]
}

const without = (places: Place[], has: (node: Json) => boolean): string[] =>
  places.filter(({ node }) => !has(node)).map(({ pointer }) => pointer)

t.test('every operation has a summary and a description', async (t) => {
  t.ok(operations.length > 100)
  t.same(
    without(operations, ({ summary }) => hasText(summary)),
    [],
    'summaries',
  )
  t.same(without(operations, isDescribed), [], 'descriptions')
})

t.test('every parameter has a description', async (t) => {
  t.ok(parameters.length > 300)
  t.same(without(parameters, isDescribed), [])
})

t.test('every property has a description', async (t) => {
  const properties = schemas.flatMap(propertiesOf)
  t.ok(properties.length > 1000)
  t.same(without(properties, isDescribed), [])
})

t.test('every tag has a description, a display name and one group', async (t) => {
  const tags = children(document, 'tags')
  const grouped = (contract as Json)['x-tagGroups'].flatMap((group: Json) => group.tags)
  t.same(without(tags, isDescribed), [], 'descriptions')
  t.same(
    without(tags, (tag) => hasText(tag['x-displayName'])),
    [],
    'display names',
  )
  t.same(
    without(tags, ({ name }) => grouped.filter((tag: string) => tag === name).length === 1),
    [],
    'groups',
  )
})
