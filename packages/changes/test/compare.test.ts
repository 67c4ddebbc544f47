// Pairs of contracts with one difference each, classified as breaking, safe or documentation only.
import t from 'tap'
import { announcementOf } from '../announced.ts'
import type { Change } from '../change.ts'
import { compareContracts } from '../compare.ts'
import { createLocator } from '../source-locations.ts'

type Json = any

/** The contract before each change. */
const contract = (): Json => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1.0.0' },
  servers: [{ url: '/v1' }],
  security: [{ apiKey: [] }],
  paths: {
    '/things': {
      get: {
        operationId: 'listThings',
        security: [{ apiKey: ['things:read'] }],
        summary: 'List',
        parameters: [
          { name: 'sort', in: 'query', schema: { type: 'string', enum: ['name', 'age'], default: 'name' } },
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
        ],
        responses: {
          200: {
            description: 'A page.',
            headers: {
              Link: { required: true, schema: { type: 'string' } },
              Age: { schema: { type: 'integer' } },
            },
            content: {
              'application/json': {
                schema: { type: 'array', items: { $ref: '#/components/schemas/Thing' } },
              },
            },
          },
        },
      },
      post: {
        operationId: 'createThing',
        security: [{ apiKey: ['things:write'] }],
        summary: 'Create',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewThing' } } },
        },
        responses: {
          201: {
            description: 'The thing.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
          400: { description: 'Wrong.' },
        },
      },
    },
    '/things/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^t_' } }],
      get: {
        operationId: 'getThing',
        security: [{ apiKey: ['things:read'] }],
        responses: {
          200: {
            description: 'It.',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
          },
        },
      },
      delete: {
        operationId: 'deleteThing',
        deprecated: true,
        'x-sunset': '2026-01-01',
        security: [{ apiKey: ['things:write'] }],
        responses: { 204: { description: 'Gone.' } },
      },
    },
  },
  webhooks: {
    'thing.created': {
      post: {
        summary: 'Made',
        requestBody: {
          content: {
            'application/json': {
              schema: {
                type: 'object',
                properties: { object: { $ref: '#/components/schemas/Thing' } },
                required: ['object'],
              },
            },
          },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer' },
      login: { type: 'http', scheme: 'basic' },
    },
    schemas: {
      Thing: {
        type: 'object',
        required: ['id', 'name', 'state', 'age'],
        properties: {
          id: { type: 'string' },
          object: { const: 'thing' },
          name: { type: 'string', description: 'What it is called.' },
          state: { type: 'string', enum: ['new', 'old'] },
          kind: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'string' }], description: 'Kind.' },
          color: { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'string' }, { type: 'null' }] },
          age: { type: 'integer', minimum: 0 },
          note: { type: ['string', 'null'] },
        },
      },
      Color: { type: 'string', enum: ['red', 'blue'] },
      NewThing: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 100 },
          color: { type: 'string', enum: ['red', 'blue'] },
          size: { type: 'integer', default: 1 },
          tags: { type: 'array', items: { type: 'string' }, maxItems: 10 },
        },
      },
    },
  },
})

const thing = (c: Json): Json => c.components.schemas.Thing
const fields = (c: Json): Json => c.components.schemas.NewThing
const list = (c: Json): Json => c.paths['/things'].get
const create = (c: Json): Json => c.paths['/things'].post

const breaking: Record<string, [rule: string, change: (c: Json) => void]> = {
  'an operation is removed': [
    'operation-removed',
    (c) => {
      delete c.paths['/things'].post
    },
  ],
  'an operation is renamed': [
    'operation-renamed',
    (c) => {
      list(c).operationId = 'allThings'
    },
  ],
  'the base path changes': [
    'server-changed',
    (c) => {
      c.servers[0].url = '/v2'
    },
  ],
  'an additional scope is required': [
    'scope-required',
    (c) => {
      list(c).security = [{ apiKey: ['things:read', 'admin'] }]
    },
  ],
  'a parameter is removed': [
    'parameter-removed',
    (c) => {
      list(c).parameters.pop()
    },
  ],
  'a required parameter is added': [
    'required-parameter-added',
    (c) => {
      list(c).parameters.push({ name: 'q', in: 'query', required: true, schema: { type: 'string' } })
    },
  ],
  'a parameter becomes required': [
    'parameter-required',
    (c) => {
      list(c).parameters[1].required = true
    },
  ],
  'a value of a parameter is removed': [
    'request-value-removed',
    (c) => {
      list(c).parameters[0].schema.enum = ['name']
    },
  ],
  'a default changes': [
    'request-default-changed',
    (c) => {
      list(c).parameters[0].schema.default = 'age'
    },
  ],
  'a maximum of a parameter is lower': [
    'request-maximum-changed',
    (c) => {
      list(c).parameters[1].schema.maximum = 50
    },
  ],
  'the pattern of a path parameter has other alternatives': [
    'request-pattern-changed',
    (c) => {
      c.paths['/things/{id}'].parameters[0].schema.pattern = '^t_x|^t_y'
    },
  ],
  'the pattern of a path parameter changes': [
    'request-pattern-changed',
    (c) => {
      c.paths['/things/{id}'].parameters[0].schema.pattern = '^th_'
    },
  ],
  'a field of the body becomes required': [
    'request-property-required',
    (c) => {
      fields(c).required.push('color')
    },
  ],
  'a required field of the body is added': [
    'request-required-property-added',
    (c) => {
      fields(c).properties.owner = { type: 'string' }
      fields(c).required.push('owner')
    },
  ],
  'a field of the body is removed': [
    'request-property-removed',
    (c) => {
      delete fields(c).properties.color
    },
  ],
  'a maxLength of the body decreases': [
    'request-maxLength-changed',
    (c) => {
      fields(c).properties.name.maxLength = 50
    },
  ],
  'a minLength of the body increases': [
    'request-minLength-changed',
    (c) => {
      fields(c).properties.name.minLength = 3
    },
  ],
  'a field of the body gets a pattern': [
    'request-pattern-added',
    (c) => {
      fields(c).properties.name.pattern = '\\S'
    },
  ],
  'a field of the body changes its type': [
    'request-type-removed',
    (c) => {
      fields(c).properties.size.type = 'string'
      delete fields(c).properties.size.default
    },
  ],
  'a maxItems of the body decreases': [
    'request-maxItems-changed',
    (c) => {
      fields(c).properties.tags.maxItems = 5
    },
  ],
  'a media type of the body is removed': [
    'media-type-removed',
    (c) => {
      create(c).requestBody.content = { 'application/xml': { schema: {} } }
    },
  ],
  'a success is removed': [
    'success-removed',
    (c) => {
      create(c).responses = { 202: { description: 'Later.' }, 400: { description: 'Wrong.' } }
    },
  ],
  'a success is added': [
    'success-added',
    (c) => {
      create(c).responses[202] = { description: 'Later.' }
    },
  ],
  'a field of a response is removed': [
    'response-property-removed',
    (c) => {
      delete thing(c).properties.note
    },
  ],
  'a field of a response becomes optional': [
    'response-property-not-required',
    (c) => {
      thing(c).required.pop()
    },
  ],
  'a field of a response becomes nullable': [
    'response-type-added',
    (c) => {
      thing(c).properties.name.type = ['string', 'null']
    },
  ],
  'an integer of a response becomes a number': [
    'response-type-added',
    (c) => {
      thing(c).properties.age.type = 'number'
    },
  ],
  'a constant of a response changes': [
    'response-value-added',
    (c) => {
      thing(c).properties.object = { enum: ['thing', 'other'] }
    },
  ],
  'an enum of a response can be null': [
    'response-type-added',
    (c) => {
      thing(c).properties.state = { type: ['string', 'null'], enum: ['new', 'old', null] }
    },
  ],
  'a field of a response loses its minimum': [
    'response-minimum-changed',
    (c) => {
      delete thing(c).properties.age.minimum
    },
  ],
  'a header of a response is removed': [
    'header-removed',
    (c) => {
      delete list(c).responses[200].headers
    },
  ],
  'an event is removed': [
    'event-removed',
    (c) => {
      delete c.webhooks['thing.created']
    },
  ],
  'a field of an event becomes optional': [
    'response-property-not-required',
    (c) => {
      c.webhooks['thing.created'].post.requestBody.content['application/json'].schema.required = []
    },
  ],
  'a header of a response may be missing': [
    'header-not-required',
    (c) => {
      list(c).responses[200].headers.Link.required = false
    },
  ],
  'a header of a response changes its type': [
    'response-type-added',
    (c) => {
      list(c).responses[200].headers.Link.schema.type = 'integer'
    },
  ],
  'the security scheme changes': [
    'security-scheme-changed',
    (c) => {
      c.components.securitySchemes.apiKey = { type: 'apiKey', in: 'header', name: 'X-Key' }
    },
  ],
  'an operation has another security scheme': [
    'security-scheme-removed',
    (c) => {
      list(c).security = [{ login: ['things:read'] }]
    },
  ],
  'an operation needs two security schemes': [
    'security-scheme-removed',
    (c) => {
      list(c).security = [{ apiKey: ['things:read'], login: [] }]
    },
  ],
  'a keyword of a schema that no rule knows': [
    'unknown-changed',
    (c) => {
      fields(c).properties.name.$dynamicRef = '#name'
    },
  ],
  'a key of an operation that no rule knows': [
    'unknown-changed',
    (c) => {
      list(c).callbacks = { done: {} }
    },
  ],
  'a dependency of fields of the body is added': [
    'request-dependentRequired-added',
    (c) => {
      fields(c).dependentRequired = { color: ['size'] }
    },
  ],
  'a limit beside a reference is added': [
    'request-minLength-changed',
    (c) => {
      fields(c).properties.color = { $ref: '#/components/schemas/Color', minLength: 4 }
    },
  ],
  'a sunset date is earlier': [
    'sunset-earlier',
    (c) => {
      c.paths['/things/{id}'].delete['x-sunset'] = '2025-12-01'
    },
  ],
  'an operation of a path item behind a reference is removed': [
    'operation-removed',
    (c) => {
      const { post, ...item } = c.paths['/things']
      c.components.pathItems = { things: item }
      c.paths['/things'] = { $ref: '#/components/pathItems/things' }
    },
  ],
}

const safe: Record<string, [rule: string, change: (c: Json) => void]> = {
  'the pattern of a parameter has one more alternative': [
    'request-pattern-changed',
    (c) => {
      c.paths['/things/{id}'].parameters[0].schema.pattern += '|^\\*$'
    },
  ],
  'an operation is added': [
    'operation-added',
    (c) => {
      c.paths['/others'] = {
        get: { operationId: 'listOthers', responses: { 200: { description: 'Others.' } } },
      }
    },
  ],
  'an operation is deprecated': [
    'operation-deprecated',
    (c) => {
      list(c).deprecated = true
      list(c)['x-sunset'] = '2027-01-01'
    },
  ],
  'an operation no longer requires a key': [
    'key-not-required',
    (c) => {
      list(c).security = []
    },
  ],
  'an optional parameter is added': [
    'parameter-added',
    (c) => {
      list(c).parameters.push({ name: 'q', in: 'query', schema: { type: 'string' } })
    },
  ],
  'a value of a parameter is added': [
    'request-value-added',
    (c) => {
      list(c).parameters[0].schema.enum.push('size')
    },
  ],
  'an optional field of the body is added': [
    'request-property-added',
    (c) => {
      fields(c).properties.owner = { type: 'string' }
    },
  ],
  'a maxLength of the body increases': [
    'request-maxLength-changed',
    (c) => {
      fields(c).properties.name.maxLength = 200
    },
  ],
  'a field of the body becomes optional': [
    'request-property-not-required',
    (c) => {
      fields(c).required = []
    },
  ],
  'a text of a request can also be an array with limits': [
    'request-type-added',
    (c) => {
      Object.assign(fields(c).properties.name, {
        type: ['string', 'array'],
        minItems: 1,
        items: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
      })
    },
  ],
  'a field of the body becomes nullable': [
    'request-type-added',
    (c) => {
      fields(c).properties.color.type = ['string', 'null']
    },
  ],
  'a field of a response is added': [
    'response-property-added',
    (c) => {
      thing(c).properties.owner = { type: 'string' }
    },
  ],
  'a field of a response becomes required': [
    'response-property-required',
    (c) => {
      thing(c).required.push('note')
    },
  ],
  'a field of a response is no longer nullable': [
    'response-type-removed',
    (c) => {
      thing(c).properties.note.type = 'string'
    },
  ],
  'an enum of a response gets a value': [
    'response-value-added',
    (c) => {
      thing(c).properties.state.enum.push('broken')
    },
  ],
  'an extensible enum of a response gets a value': [
    'response-value-added',
    (c) => {
      thing(c).properties.kind.anyOf[0].enum.push('c')
    },
  ],
  'a shared enum of a response gets a value': [
    'response-value-added',
    (c) => {
      c.components.schemas.Color.enum.push('green')
    },
  ],
  'an enum of a response loses a value': [
    'response-value-removed',
    (c) => {
      thing(c).properties.kind.anyOf[0].enum.pop()
    },
  ],
  'an error is added': [
    'error-added',
    (c) => {
      list(c).responses[503] = { description: 'Not now.' }
    },
  ],
  'a header of a response is added': [
    'header-added',
    (c) => {
      list(c).responses[200].headers.ETag = { schema: { type: 'string' } }
    },
  ],
  'an event is added': [
    'event-added',
    (c) => {
      c.webhooks['thing.deleted'] = c.webhooks['thing.created']
    },
  ],
  'a second security scheme is accepted': [
    'security-scheme-added',
    (c) => {
      list(c).security.push({ login: [] })
    },
  ],
  'a header of a response becomes required': [
    'header-required',
    (c) => {
      list(c).responses[200].headers.Age.required = true
    },
  ],
  'a schema of the body becomes one of two': [
    'request-oneOf-changed',
    (c) => {
      fields(c).properties.size = { oneOf: [{ type: 'integer' }, { type: 'string' }], default: 1 }
    },
  ],
  'a sunset date is later': [
    'sunset-later',
    (c) => {
      c.paths['/things/{id}'].delete['x-sunset'] = '2027-01-01'
    },
  ],
}

const documentation: Record<string, (c: Json) => void> = {
  'a summary': (c) => {
    list(c).summary = 'List things'
  },
  'a description of a field': (c) => {
    thing(c).properties.name.description = 'Its name.'
  },
  'an example': (c) => {
    fields(c).examples = [{ name: 'Lamp' }]
  },
  'the version': (c) => {
    c.info.version = '1.1.0'
  },
  'the name of a path parameter': (c) => {
    const item = c.paths['/things/{id}']
    delete c.paths['/things/{id}']
    item.parameters[0].name = 'thing_id'
    item.get.summary = 'Get it'
    c.paths['/things/{thing_id}'] = item
  },
}

function changesOf(change: (c: Json) => void): Change[] {
  const after = contract()
  change(after)
  return compareContracts(contract(), after)
}
const rules = (changes: Change[], weight: string): string[] => [
  ...new Set(changes.filter((change) => change.weight === weight).map(({ rule }) => rule)),
]

t.test('equal contracts have no changes', async (t) => {
  t.same(
    changesOf(() => {}),
    [],
  )
})

for (const [name, [rule, change]] of Object.entries(breaking)) {
  t.test(`breaking: ${name}`, async (t) => {
    const changes = changesOf(change)
    t.ok(rules(changes, 'breaking').includes(rule), JSON.stringify(changes))
  })
}

for (const [name, [rule, change]] of Object.entries(safe)) {
  t.test(`safe: ${name}`, async (t) => {
    const changes = changesOf(change)
    t.same(rules(changes, 'breaking'), [])
    t.ok(rules(changes, 'safe').includes(rule), JSON.stringify(changes))
  })
}

for (const [name, change] of Object.entries(documentation)) {
  t.test(`documentation only: ${name}`, async (t) => {
    const changes = changesOf(change)
    t.same([...new Set(changes.map(({ weight }) => weight))], ['documentation'])
  })
}

t.test('a contract that becomes open for later versions has no changes', async (t) => {
  const closed = contract()
  thing(closed).additionalProperties = false
  thing(closed).properties.kind = { ...thing(closed).properties.kind.anyOf[0], description: 'Kind.' }
  thing(closed).properties.color = { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'null' }] }
  t.same(compareContracts(closed, contract()), [])
})

/** Schemas of the same values. Changes between them are no changes, in requests and in answers. */
const spellings: Record<string, Json[]> = {
  'a type or null': [
    { type: ['string', 'null'], minLength: 1 },
    { type: ['null', 'string'], minLength: 1 },
    { anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] },
    { oneOf: [{ type: 'null' }, { type: 'string', minLength: 1 }] },
    { type: 'string', minLength: 1, nullable: true },
  ],
  'a reference or null': [
    { anyOf: [{ $ref: '#/components/schemas/Color' }, { type: 'null' }] },
    { oneOf: [{ $ref: '#/components/schemas/Color' }, { const: null }] },
    { type: ['string', 'null'], enum: ['red', 'blue', null] },
    { type: ['string', 'null'], enum: [null, 'blue', 'red'] },
  ],
  'a reference': [
    { $ref: '#/components/schemas/Color' },
    { type: 'string', enum: ['red', 'blue'] },
    { allOf: [{ $ref: '#/components/schemas/Color' }] },
    { anyOf: [{ $ref: '#/components/schemas/Color' }] },
    { $ref: '#/components/schemas/Color', type: 'string' },
    { type: 'string', allOf: [{ enum: ['red', 'blue', 'green'] }, { enum: ['blue', 'red'] }] },
  ],
  'one value': [
    { const: 'a' },
    { enum: ['a'] },
    { type: 'string', const: 'a' },
    { type: ['string'], enum: ['a'] },
  ],
  'an exclusive limit': [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'number', minimum: 0, exclusiveMinimum: true },
    { type: 'number', exclusiveMinimum: 0, minimum: -5 },
  ],
  'a limit of an integer': [
    { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
    { type: 'integer', minimum: 1, exclusiveMaximum: 10 },
  ],
  'parts of an object': [
    {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'string' }, b: { type: 'integer', minimum: 0 } },
    },
    {
      allOf: [
        { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
        { type: 'object', required: ['b'], properties: { b: { type: 'integer', minimum: 0 } } },
        { properties: { b: { type: 'integer' } } },
      ],
    },
  ],
  'keywords without effect': [
    { type: 'string' },
    { type: 'string', minLength: 0, pattern: '.*', uniqueItems: false, properties: {}, required: [] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    { type: 'string', then: { minLength: 1 }, minContains: 2, items: true, readOnly: false },
  ],
  'a condition for one type or another': [
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    { anyOf: [{ type: 'integer' }, { allOf: [{ type: 'string' }] }] },
  ],
}

for (const [name, schemas] of Object.entries(spellings)) {
  t.test(`no change: ${name} in another spelling`, async (t) => {
    for (const from of schemas)
      for (const to of schemas) {
        const [before, after] = [contract(), contract()]
        for (const [c, schema] of [
          [before, from],
          [after, to],
        ]) {
          thing(c).properties.note = schema
          fields(c).properties.note = schema
        }
        const changes = compareContracts(before, after).filter(({ weight }) => weight !== 'documentation')
        t.same(changes, [], JSON.stringify([from, to]))
      }
  })
}

t.test('a change within each spelling is found', async (t) => {
  const less = [
    { type: ['string', 'null'], minLength: 2 },
    { anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] },
    { type: 'string', minLength: 1 },
    { type: 'string', minLength: 2, nullable: true },
  ]
  for (const from of spellings['a type or null'])
    for (const to of less) {
      const [before, after] = [contract(), contract()]
      fields(before).properties.note = from
      fields(after).properties.note = to
      t.not(rules(compareContracts(before, after), 'breaking').length, 0, JSON.stringify([from, to]))
      t.equal(rules(compareContracts(after, before), 'breaking').length, 0, JSON.stringify([to, from]))
    }
})

t.test('a media type with the default charset and another case is no change', async (t) => {
  t.same(
    changesOf((c) => {
      const { content } = create(c).responses[201]
      create(c).responses[201].content = { 'Application/JSON; charset=utf-8': content['application/json'] }
    }),
    [],
  )
})

t.test('the name of a security scheme is no change', async (t) => {
  const renamed = JSON.parse(JSON.stringify(contract()).replaceAll('"apiKey"', '"key"'))
  t.same(compareContracts(contract(), renamed), [])
})

t.test('a removal counts as announced from the sunset date on', async (t) => {
  const [removed] = changesOf((c) => {
    delete c.paths['/things/{id}'].delete
  })
  t.match(removed, { weight: 'breaking', rule: 'operation-removed', subject: 'DELETE /things/{id}' })
  t.equal(announcementOf(contract(), removed, new Date('2025-12-31')), null)
  t.match(announcementOf(contract(), removed, new Date('2026-01-01')), 'with the sunset date 2026-01-01')
  const [other] = changesOf((c) => {
    delete c.paths['/things'].post
  })
  t.equal(announcementOf(contract(), other, new Date('2030-01-01')), null)
})

t.test('a location is the line in the file of the part', async (t) => {
  const files: Record<string, string> = {
    'spec/openapi.yaml': "paths:\n  /things: { $ref: 'things.yaml#/paths/things' }\n",
    'spec/things.yaml':
      'paths:\n  things:\n    get:\n      operationId: listThings\n      parameters:\n' +
      '        - name: sort\n          in: query\n' +
      'components:\n  schemas:\n    Thing:\n      properties:\n        name: {}\n',
  }
  const place = createLocator((file) => files[file] ?? null, 'spec/openapi.yaml')
  t.same(place('/paths/~1things/get/operationId'), { file: 'spec/things.yaml', line: 4 })
  t.same(place('/paths/~1things/get/parameters/0/in'), { file: 'spec/things.yaml', line: 7 })
  t.same(place('/components/schemas/Thing/properties/name/type'), { file: 'spec/things.yaml', line: 12 })
  t.same(place('/webhooks/thing.created/post'), { file: 'spec/openapi.yaml', line: 1 })
})
