// The generator reports every kind of error in the spec with file, line and column, and writes nothing.
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ContractError, readContract, requireAllUsed, type Problem } from '../../scripts/generate/contract.ts'
import { isLongForm } from '../support/long-form.ts'

const root = join(import.meta.dirname, '../..')
const miniSpec = join(root, 'test/support/generator/mini-spec')

interface Mistake {
  /** Replaces text of the mini spec. */
  file?: string
  change: [from: string | RegExp, to: string]
  /** Matches the message. `at` is part of the reported line. */
  says: RegExp
  at: string
}

/** Makes ThingCreate a choice of two schemas, with a mistake. */
function choice(mistake: [from: string, to: string]): Mistake['change'] {
  const schemas = `ThingCreate:
      oneOf:
        - { $ref: '#/components/schemas/Lamp' }
        - { $ref: '#/components/schemas/Chair' }
      discriminator:
        propertyName: kind
        mapping:
          lamp: '#/components/schemas/Lamp'
    Lamp:
      type: object
      additionalProperties: false
      required: [kind, watts]
      properties:
        kind: { type: string, const: lamp }
        watts: { type: integer, format: int32, examples: [5] }
    Chair:
      type: object
      additionalProperties: false
      required: [kind]
      properties:
        kind: { type: string, enum: [chair, stool] }
    `
  const wrong = schemas.replace(...mistake)
  if (wrong === schemas) throw new Error(`there is no ${mistake[0]}`)
  return [/ThingCreate:\n[^]*?(?=ThingList:)/, wrong]
}

const mistakes: Record<string, Mistake> = {
  'an unknown reference': {
    change: ["schemas/Name' }", "schemas/Nome' }"],
    says: /resolve/,
    at: "schemas/Nome'",
  },
  'a reference into a missing file': {
    file: 'openapi.yaml',
    change: ["things.yaml#/paths/thing'", "thing.yaml#/paths/thing'"],
    says: /resolve|no such file/i,
    at: "thing.yaml#/paths/thing'",
  },
  'a schema that refers to another component': {
    change: ["name: { $ref: '#/components/schemas/Name' }", "name: { $ref: '#/components/headers/Link' }"],
    says: /components\/schemas/,
    at: '#/components/headers/Link',
  },
  'a keyword beside the reference to a parameter': {
    change: [
      "- $ref: '#/components/parameters/Page'",
      "- { $ref: '#/components/parameters/Page', required: true }",
    ],
    says: /`required` beside a \$ref/,
    at: 'required: true',
  },
  'a type that does not exist': {
    change: ['made_at: { type: string', 'made_at: { type: text'],
    says: /type/,
    at: 'type: text',
  },
  'a keyword that does not exist': {
    change: ['minLength: 1', 'minLenght: 1'],
    says: /minLenght/,
    at: 'minLenght',
  },
  'a keyword of OpenAPI 3.0': {
    change: ['minLength: 1', 'nullable: true'],
    says: /nullable/,
    at: 'nullable',
  },
  'a limit that is not a number': {
    change: ['minimum: 1, default: 1', "minimum: '1', default: 1"],
    says: /number/,
    at: "minimum: '1'",
  },
  'no operationId': { change: ['      operationId: getThing\n', ''], says: /operationId/i, at: 'get:' },
  'an operationId that is not camelCase': {
    change: ['operationId: getThing', 'operationId: get-thing'],
    says: /camelCase/,
    at: 'get-thing',
  },
  'a duplicate operationId': {
    change: ['operationId: updateThing', 'operationId: getThing'],
    says: /unique/,
    at: 'operationId: getThing',
  },
  'a duplicate path': {
    file: 'openapi.yaml',
    change: ['  /merged:', "  /things: { $ref: 'edge.yaml#/paths/merged' }\n  /merged:"],
    says: /duplicate/i,
    at: "/things: { $ref: 'edge.yaml",
  },
  'two paths that differ in a parameter name only': {
    file: 'openapi.yaml',
    change: ['  /merged:', "  /things/{other}: { $ref: 'edge.yaml#/paths/merged' }\n  /merged:"],
    says: /identical|same|path/i,
    at: '/things/{other}',
  },
  'an unknown scope': {
    change: ['[{ apiKey: [things:read] }]', '[{ apiKey: [things:look] }]'],
    says: /unknown scope `things:look`/,
    at: 'things:look',
  },
  'an unknown security scheme': {
    change: ['[{ apiKey: [things:read] }]', '[{ session: [things:read] }]'],
    says: /session/,
    at: 'session',
  },
  'alternative security schemes': {
    change: ['[{ apiKey: [things:read] }]', '[{ apiKey: [things:read] }, { apiKey: [things:write] }]'],
    says: /only one security scheme.*write one alternative/,
    at: 'things:write] }]',
  },
  'two security schemes together': {
    change: ['[{ apiKey: [things:read] }]', '[{ apiKey: [things:read], other: [] }]'],
    says: /two security schemes together.*write one scheme/,
    at: 'other: []',
  },
  'no security': {
    change: ['      security: [{ apiKey: [things:read] }]\n', ''],
    says: /scopes in `security`/,
    at: 'get:',
  },
  'an unknown tag': { change: ['tags: [things]', 'tags: [thongs]'], says: /tag/i, at: 'thongs' },
  'two tags': {
    change: ['tags: [things]', 'tags: [things, edge]'],
    says: /exactly one tag/,
    at: '[things, edge]',
  },
  'no tag': { change: ['      tags: [things]\n', ''], says: /exactly one tag/, at: 'get:' },
  'no summary': { change: ['      summary: List things\n', ''], says: /summary/, at: 'get:' },
  'an invalid example': {
    change: ['        - id: t1\n          name: Lamp', '        - id: t1\n          name: 5'],
    says: /name.*string/,
    at: 'name: 5',
  },
  'a schema with the name of a global type': {
    change: [
      '    Name:\n      type: string\n',
      "    Name: { $ref: '#/components/schemas/File' }\n    File:\n      type: string\n",
    ],
    says: /`File` is the name of a global type/,
    at: 'File:',
  },
  'a schema with a name that is not PascalCase': {
    change: [
      '    Name:\n      type: string\n',
      "    Name: { $ref: '#/components/schemas/Name-2' }\n    Name-2:\n      type: string\n",
    ],
    says: /`Name-2` must be PascalCase/,
    at: 'Name-2:',
  },
  'two schemas with one name': {
    file: 'edge.yaml',
    change: ['    Label: {', "    Label: { $ref: '#/components/schemas/Name' }\n    Name: {"],
    says: /`Name` in things\.yaml and in edge\.yaml/,
    at: 'Name: {',
  },
  'a response without a schema': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingList' } } }",
      'content: { application/json: {} }',
    ],
    says: /no schema/,
    at: "'200':",
  },
  'a request body without a schema': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
      'content: { application/json: {} }',
    ],
    says: /request body has no schema/,
    at: 'requestBody:',
  },
  'a response for a range of statuses': {
    change: ["'201':", '2XX:'],
    says: /three-digit status.*write every status/,
    at: '2XX',
  },
  'a default response': {
    change: ["'201':", 'default:'],
    says: /`default`: .*x-implied-responses/,
    at: 'default',
  },
  'no success response': {
    change: ["'201':", "'404':"],
    says: /at least one success response/,
    at: 'responses:',
  },
  'a response with two media types': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingList' } } }",
      'content: { application/json: { schema: { type: string } }, text/csv: { schema: { type: string } } }',
    ],
    says: /more than one media type.*write an operation for each type/,
    at: "'200':",
  },
  'a JSON body with another media type': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
      "content: { application/merge-patch+json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
    ],
    says: /no parser reads `application\/merge-patch\+json`: .*A PUT without x-replaces merges/,
    at: 'application/merge-patch+json',
  },
  'x-raw on a body that is not JSON': {
    change: [
      "        content: { application/json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
      '        x-raw: true\n        content: { application/x-www-form-urlencoded: ' +
        "{ schema: { $ref: '#/components/schemas/ThingCreate' } } }",
    ],
    says: /x-raw requires a body that is only application\/json/,
    at: 'requestBody:',
  },
  'a form with a number': {
    change: [
      "        content: { application/json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
      '        content: { application/x-www-form-urlencoded: { schema: ' +
        '{ type: object, additionalProperties: false, ' +
        'properties: { size: { type: integer, format: int32 } } } } }',
    ],
    says: /the form field `size` must be a string/,
    at: 'requestBody:',
  },
  'text that is not YAML': {
    change: ['summary: Get a thing', 'summary: "Get" a thing'],
    says: /parse/,
    at: 'summary: "Get" a thing',
  },
  'a root document that is not YAML': {
    file: 'openapi.yaml',
    change: ['  default: 600', '  default: [600'],
    says: /./,
    at: 'write: 120',
  },
  'a duplicate key': {
    change: ['      summary: Get a thing', '      summary: Get a thing\n      summary: Get it'],
    says: /duplicate/i,
    at: 'summary: Get it',
  },
  'a tab for indentation': {
    change: ['      summary: Get a thing', '\t\tsummary: Get a thing'],
    says: /tab/i,
    at: '\t\tsummary',
  },
  'an unexpected key': {
    change: ['      summary: Get a thing', '      summary: Get a thing\n      sumary: Get a thing'],
    says: /sumary/,
    at: 'sumary',
  },
  'a path parameter that is not declared': {
    file: 'openapi.yaml',
    change: ['/merged:', '/merged/{part}:'],
    says: /does not define the path parameter `{part}`/,
    at: 'parameters:',
  },
  'a declared parameter that is not in the path': {
    file: 'openapi.yaml',
    change: ['/things/{id}:', '/things/all:'],
    says: /id/,
    at: 'name: id',
  },
  'a path parameter that is not required': {
    change: [
      'in: path, required: true, schema: { type: string, pattern',
      'in: path, schema: { type: string, pattern',
    ],
    says: /required/,
    at: 'name: id',
  },
  'a hyphen in a path parameter': {
    file: 'openapi.yaml',
    change: ['/things/{id}:', '/things/{thing-id}:'],
    says: /snake_case/,
    at: '{thing-id}',
  },
  'a path parameter in part of a segment': {
    file: 'openapi.yaml',
    change: ['/things/{id}:', '/things/{id}.json:'],
    says: /whole segment/,
    at: '{id}.json',
  },
  'an unsupported method': {
    change: ['    put:\n', '    trace:\n'],
    says: /TRACE is not supported/,
    at: 'trace:',
  },
  deepObject: {
    change: ['name: limit, in: query,', 'name: limit, in: query, style: deepObject,'],
    says: /deepObject/,
    at: 'deepObject',
  },
  'explode: false': {
    change: ['name: limit, in: query,', 'name: limit, in: query, explode: false,'],
    says: /explode: false.*a repeated parameter/,
    at: 'explode: false',
  },
  'a cookie': {
    change: ['name: limit, in: query,', 'name: limit, in: cookie,'],
    says: /cookie.*write `in: header`/,
    at: 'in: cookie',
  },
  'an object in the query': {
    change: [
      'schema: { type: integer, format: int32, default: 20 }',
      'schema: { type: object, additionalProperties: { type: string } }',
    ],
    says: /must have the style `deepObject`/,
    at: 'type: object',
  },
  'a 201 with Location but without ETag': {
    change: [
      `headers/Location' },\n              ETag: { $ref: '#/components/headers/ETag' },\n`,
      `headers/Location' },\n`,
    ],
    says: /a 201 must declare the header ETag/,
    at: "'201':",
  },
  'a POST without IdempotencyKey': {
    change: [
      "      parameters:\n        - $ref: '#/components/parameters/IdempotencyKey'\n      requestBody",
      '      requestBody',
    ],
    says: /IdempotencyKey/,
    at: 'post:',
  },
  'a PUT without IfMatch': {
    change: ["      parameters:\n        - $ref: '#/components/parameters/IfMatch'\n", ''],
    says: /IfMatch/,
    at: 'put:',
  },
  'a PUT without a GET that has an ETag': {
    change: ["          headers:\n            ETag: { $ref: '#/components/headers/ETag' }\n", ''],
    says: /a PUT needs a GET/,
    at: 'put:',
  },
  'IfNoneMatch without an ETag': {
    change: ["          headers:\n            ETag: { $ref: '#/components/headers/ETag' }\n", ''],
    says: /requires the header ETag/,
    at: 'get:',
  },
  'a list without `page`': {
    change: ["        - $ref: '#/components/parameters/Page'\n", ''],
    says: /`page`/,
    at: 'get:',
  },
  'a value of `include` without its property': {
    change: ['enum: [owner]', 'enum: [owner, maker]'],
    says: /values of `include` must be those of `x-user-of`: owner$/,
    at: 'get:',
  },
  'x-user-of of no property': {
    change: ['x-user-of: owner_id', 'x-user-of: maker_id'],
    says: /`x-user-of` names no property: maker_id/,
    at: 'get:',
  },
  'a list without Link': {
    change: ["          headers:\n            Link: { $ref: '#/components/headers/Link' }\n", ''],
    says: /header Link/,
    at: "'200':",
  },
  'an open object in a request': {
    change: ['      additionalProperties: false\n      required: [name]', '      required: [name]'],
    says: /`ThingCreate` is in requests, so it must have `additionalProperties: false`/,
    at: 'ThingCreate:',
  },
  'a closed object in an answer': {
    change: ['      required: [id, name]', '      additionalProperties: false\n      required: [id, name]'],
    says: /`Thing` is in answers, so it must not have `additionalProperties`/,
    at: 'Thing:',
  },
  'a closed object inside of an answer': {
    change: [
      'made_at: { type: string',
      'made_at: { additionalProperties: false, properties: {}, type: string',
    ],
    says: /`Thing.made_at` is in answers/,
    at: 'made_at:',
  },
  'an object in requests and in answers': {
    change: [
      "schema: { $ref: '#/components/schemas/ThingCreate' }",
      "schema: { $ref: '#/components/schemas/Thing' }",
    ],
    says: /`Thing` is in requests and in answers/,
    at: 'Thing:',
  },
  'a list of enum values in requests and in answers': {
    change: [
      '    Name:\n      type: string\n',
      '    Name:\n      type: array\n      items: { enum: [a, b] }\n',
    ],
    says: /`Name` is in requests and in answers/,
    at: 'Name:',
  },
  'a stream with a schema': {
    change: [
      '              x-stream-events:',
      '              schema: { type: string }\n              x-stream-events:',
    ],
    says: /a stream has no `schema`/,
    at: 'schema: { type: string }',
  },
  'an unknown property in `required`': {
    change: ['required: [id, name]', 'required: [id, nome]'],
    says: /`nome`, which is not a property/,
    at: 'required: [id, nome]',
  },
  'a pattern that does not compile': {
    change: ["'^t[0-9]+$'", "'^t([0-9]+$'"],
    says: /pattern/,
    at: "'^t([0-9]+$'",
  },
  'x-pattern-says without a pattern': {
    change: ["pattern: '^t[0-9]+$'", 'x-pattern-says: a t and digits'],
    says: /requires a `pattern`/,
    at: 'x-pattern-says',
  },
  'x-pattern-says that is not text': {
    change: ["pattern: '^t[0-9]+$'", "pattern: '^t[0-9]+$', x-pattern-says: 5"],
    says: /text that completes "must be"/,
    at: 'x-pattern-says',
  },
  'an unknown format': {
    change: ['format: date-time', 'format: datetime'],
    says: /unknown format `datetime`/,
    at: 'format: datetime',
  },
  'an unknown rate limit': {
    change: ['x-rate-limit: write', 'x-rate-limit: often'],
    says: /unknown rate limit `often`/,
    at: 'x-rate-limit: often',
  },
  'an unknown role': {
    change: ['role: editor', 'role: author'],
    says: /unknown role `author`/,
    at: 'author',
  },
  'an unknown state': {
    change: ['states: [active]', 'states: [sleeping]'],
    says: /unknown state `sleeping`/,
    at: 'sleeping',
  },
  'a project without x-project-access': {
    change: ['      x-project-access: { role: editor, states: [active] }\n', ''],
    says: /x-project-access/,
    at: 'post:',
  },
  'an unused component': {
    file: 'openapi.yaml',
    change: ['components:\n', 'components:\n  schemas:\n    Spare: { type: string }\n'],
    says: /never used/,
    at: 'Spare',
  },
  'an invalid event type': {
    file: 'openapi.yaml',
    change: ['thing.made:', 'thingMade:'],
    says: /event type `thingMade`/,
    at: 'thingMade',
  },
  'an event with an unknown scope': {
    file: 'openapi.yaml',
    change: ["scope: 'things:read'", "scope: 'things:look'"],
    says: /unknown scope `things:look`/,
    at: 'things:look',
  },
  'an event without an audience': {
    file: 'openapi.yaml',
    change: ['    audience: user\n', ''],
    says: /either `project`.*or `audience`/,
    at: 'thing.made',
  },
  'an event with a project and an audience': {
    file: 'openapi.yaml',
    change: ['    audience: user\n', '    audience: user\n    project: id\n'],
    says: /either `project`.*or `audience`/,
    at: 'thing.made',
  },
  'an event with an unknown audience': {
    file: 'openapi.yaml',
    change: ['audience: user', 'audience: anyone'],
    says: /anyone|one of/,
    at: 'anyone',
  },
  'a role of an event without a project': {
    file: 'openapi.yaml',
    change: ['    audience: user\n', '    audience: user\n    role: admin\n'],
    says: /`role` is allowed only with `project`/,
    at: 'role: admin',
  },
  'an event whose object lacks the project field': {
    file: 'openapi.yaml',
    change: ['project: id', 'project: project_id'],
    says: /no `project_id`/,
    at: 'project: project_id',
  },
  'an event with an unknown object': {
    file: 'openapi.yaml',
    change: [
      "object: { $ref: 'things.yaml#/components/schemas/Thing' }",
      "object: { $ref: 'things.yaml#/components/schemas/Think' }",
    ],
    says: /resolve/,
    at: 'schemas/Think',
  },
  'an event without an object': {
    file: 'openapi.yaml',
    change: ["    object: { $ref: 'things.yaml#/components/schemas/Thing' }\n", ''],
    says: /`object`/,
    at: 'thing.made',
  },
  'an unknown key of an event': {
    file: 'openapi.yaml',
    change: ['    audience: user\n', '    audience: user\n    scopes: x\n'],
    says: /scopes/,
    at: 'scopes: x',
  },
  'a stream without declared events': {
    change: [
      '              x-stream-events:\n' +
        "                message: { $ref: '#/components/schemas/PlatformEvent' }\n",
      '              schema: { type: string }\n',
    ],
    says: /requires `x-stream-events`/,
    at: 'text/event-stream',
  },
  'stream events of a JSON response': {
    change: ['text/event-stream:', 'application/json:'],
    says: /requires `x-stream-events`/,
    at: 'application/json:',
  },
  'an event of a stream without a component': {
    change: ["message: { $ref: '#/components/schemas/PlatformEvent' }", 'message: { type: string }'],
    says: /the data of `message` must be a \$ref/,
    at: 'message: {',
  },
  'a misspelled extension': {
    change: ['x-rate-limit: write', 'x-ratelimit: write'],
    says: /unknown extension `x-ratelimit`; .*x-rate-limit/,
    at: 'x-ratelimit',
  },
  'an extension in the wrong place': {
    change: ['x-rate-limit: write', 'x-rate-limits: write'],
    says: /`x-rate-limits` belongs in a Root/,
    at: 'x-rate-limits',
  },
  'a misspelled extension of a schema': {
    change: ['x-in-events: false', 'x-in-event: false'],
    says: /unknown extension `x-in-event`/,
    at: 'x-in-event',
  },
  'a misspelled extension of the document': {
    file: 'openapi.yaml',
    change: ['x-implied-responses:', 'x-implied-response:'],
    says: /unknown extension `x-implied-response`/,
    at: 'x-implied-response',
  },
  'a place of an area that the console does not have': {
    file: 'openapi.yaml',
    change: [
      'x-implied-responses:',
      'x-tagGroups: [{ name: A, tags: [], x-console: { place: top } }]\nx-implied-responses:',
    ],
    says: /`x-tagGroups` must be a list of groups, each with a `name`, its `tags`, and an `x-console`/,
    at: '[{ name: A',
  },
  'a hint for the console that does not exist': {
    change: ['x-rate-limit: write', 'x-console: { name: Things }'],
    says: /`x-console` must be an object with a `title`/,
    at: 'x-console',
  },
  'an extension with an invalid value': {
    change: ['x-rate-limit: write', 'x-idempotency: never'],
    says: /`x-idempotency` must be one of handler, none/,
    at: 'never',
  },
  'x-event-types that is not a list': {
    change: ['x-event-types: [types, other]', 'x-event-types: types'],
    says: /`x-event-types` must be a list/,
    at: 'x-event-types',
  },
  'a rate limit that is not a number': {
    file: 'openapi.yaml',
    change: ['  default: 600', '  default: often'],
    says: /`x-rate-limits` must be a positive integer for each policy/,
    at: 'default: often',
  },
  'a duplicate enum value': {
    change: ['enum: [asc, desc], default: asc', 'enum: [asc, asc, desc], default: asc'],
    says: /`enum` has "asc" twice/,
    at: '[asc, asc, desc]',
  },
  'an enum value of the wrong type': {
    change: ['enum: [name], default: name', 'enum: [5]'],
    says: /same type/,
    at: 'enum: [5]',
  },
  'a duplicate name in `required`': {
    change: ['required: [id, name]', 'required: [id, id]'],
    says: /`required` has "id" twice/,
    at: 'required: [id, id]',
  },
  'a default that is not in the enum': {
    change: ['enum: [asc, desc], default: asc', 'enum: [asc, desc], default: up'],
    says: /the default "up" is invalid/,
    at: 'default: up',
  },
  'a default of the wrong type': {
    change: ['type: integer, format: int32, default: 20', "type: integer, format: int32, default: 'twenty'"],
    says: /the default "twenty" is invalid/,
    at: "'twenty'",
  },
  'an integer without a format': {
    change: ['type: integer, format: int32, default: 20', 'type: integer, default: 20'],
    says: /an integer must have the format int32 or int64/,
    at: 'default: 20',
  },
  'an int32 with a larger maximum': {
    change: ['format: int32, minimum: 1, default: 1', 'format: int32, maximum: 2147483648, default: 1'],
    says: /`maximum` needs int64/,
    at: '2147483648',
  },
  'a text with the format of an integer': {
    change: ['type: integer, format: int32, default: 20', 'type: string, format: int32'],
    says: /only an integer has this format/,
    at: 'type: string',
  },
  'a default below the minimum': {
    change: ['minimum: 1, default: 1', 'minimum: 1, default: 0'],
    says: /the default 0 is invalid/,
    at: 'default: 0',
  },
  'a minimum above the maximum': {
    change: ['minimum: 1, default: 1', 'minimum: 10, maximum: 5'],
    says: /`minimum` 10 is greater than `maximum` 5/,
    at: 'minimum: 10',
  },
  'a minLength above the maxLength': {
    change: ['minLength: 1', 'minLength: 10\n      maxLength: 5'],
    says: /`minLength` 10/,
    at: 'minLength: 10',
  },
  'a negative length': {
    change: ['minLength: 1', 'minLength: -1'],
    says: /minLength/,
    at: 'minLength: -1',
  },
  'a const that is not in the enum': {
    change: ['enum: [name], default: name', 'const: size, enum: [name]'],
    says: /`const` is not in `enum`/,
    at: 'const: size',
  },
  'an array without items': {
    change: ["type: array, items: { $ref: '#/components/schemas/Thing' }", 'type: array'],
    says: /an array must have `items`/,
    at: 'type: array',
  },
  'an unknown keyword beside a reference': {
    change: [
      "name: { $ref: '#/components/schemas/Name' }",
      "name: { $ref: '#/components/schemas/Name', maxlength: 3 }",
    ],
    says: /`maxlength` is not a schema keyword/,
    at: 'maxlength',
  },
  'an invalid keyword value beside a reference': {
    change: [
      "name: { $ref: '#/components/schemas/Name' }",
      "name: { $ref: '#/components/schemas/Name', maxLength: three }",
    ],
    says: /`maxLength` must be integer/,
    at: 'maxLength',
  },
  'an empty enum': {
    change: ['enum: [name], default: name', 'enum: []'],
    says: /`enum` has no value/,
    at: 'enum',
  },
  'an infinite number': {
    change: ['minimum: 1, default: 1', 'minimum: -.inf, default: 1'],
    says: /`minimum` must be a finite number/,
    at: 'minimum',
  },
  'a response without a media type': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingList' } } }",
      'content: {}',
    ],
    says: /the `content` of 200 has no media type/,
    at: "'200':",
  },
  'a request body without a media type': {
    change: [
      "content: { application/json: { schema: { $ref: '#/components/schemas/ThingCreate' } } }",
      'content: {}',
    ],
    says: /request body has no media type/,
    at: 'requestBody:',
  },
  'an implied success': {
    file: 'openapi.yaml',
    change: ["every: { '400'", "every: { '200'"],
    says: /`200`: an implied response must be 304 or an error/,
    at: "'200'",
  },
  'a path without a leading slash': {
    file: 'openapi.yaml',
    change: ['  /merged:', '  x-merged:'],
    says: /`x-merged`: a path must start with `\/`/,
    at: 'x-merged',
  },
  'a reference that is not a URI': {
    change: [
      "type: array, items: { $ref: '#/components/schemas/Thing' }",
      "type: array, items: { $ref: '#/components/schemas/Thing%' }",
    ],
    says: /`#\/components\/schemas\/Thing%` is not a valid URI/,
    at: "$ref: '#/components/schemas/Thing%'",
  },
  'a reference to itself': {
    change: [
      'Name:\n      type: string\n',
      "Name:\n      $ref: '#/components/schemas/Name'\n      type: string\n",
    ],
    says: /refers to itself/,
    at: "$ref: '#/components/schemas/Name'",
  },
  'a schema that requires itself': {
    change: [
      "required: [name]\n      properties:\n        name: { $ref: '#/components/schemas/Name' }",
      "required: [name]\n      properties:\n        name: { $ref: '#/components/schemas/ThingCreate' }",
    ],
    says: /requires itself/,
    at: 'ThingCreate:',
  },
  'scopes that are not a list': {
    change: ['[{ apiKey: [things:read] }]', '[{ apiKey: things:read }]'],
    says: /the scopes of `apiKey` must be a list/,
    at: 'apiKey: things:read',
  },
  'security that is not a list': {
    change: ['[{ apiKey: [things:read] }]', '{ apiKey: [things:read] }'],
    says: /`security` must be a list/,
    at: '{ apiKey: [things:read] }',
  },
  'misspelled security': {
    change: ['      security: [{ apiKey: [things:read] }]', '      securty: [{ apiKey: [things:read] }]'],
    says: /`securty` is not expected/,
    at: 'securty',
  },
  'tags that are not a list': {
    change: ['tags: [things]', 'tags: things'],
    says: /array/,
    at: 'tags: things',
  },
  'a header without a schema': {
    change: ['Link: { schema: { type: string } }', 'Link: { description: x }'],
    says: /schema, content/,
    at: 'Link: { description: x }',
  },
  'a response without a description': {
    change: ["'204': { description: Used. }", "'204': {}"],
    says: /description/,
    at: "'204': {}",
  },
  'no responses': {
    change: ["      responses:\n        '204': { description: Used. }\n", ''],
    says: /response/,
    at: 'post:',
  },
  'an invalid status': { change: ["'201':", "'999':"], says: /three-digit status/, at: "'999'" },
  'an unknown discriminator': {
    change: [
      "Name:\n      type: string\n      minLength: 1\n      pattern: '\\S'\n",
      'Name:\n      oneOf: [{ type: string }]\n      discriminator: { propertyName: kind }\n',
    ],
    says: /an alternative of a `discriminator` must be only a `\$ref`/,
    at: 'oneOf',
  },
  'a discriminator of anyOf': {
    change: choice(['oneOf', 'anyOf']),
    says: /`discriminator` needs `oneOf` beside it/,
    at: 'discriminator:',
  },
  'an alternative without the property': {
    change: choice(['kind: { type: string, const: lamp }', 'size: { type: string, const: lamp }']),
    says: /`Lamp` must have the property `kind`.*add `kind: \{ type: string, const: lamp \}`/,
    at: 'schemas/Lamp',
  },
  'an alternative that may leave out the property': {
    change: choice(['required: [kind, watts]', 'required: [watts]']),
    says: /`Lamp` must list `kind` in `required`/,
    at: 'schemas/Lamp',
  },
  'an alternative that is chosen by a number': {
    change: choice(['type: string, const: lamp', 'type: integer, format: int32, const: 1']),
    says: /`kind` of `Lamp` must be a string/,
    at: 'schemas/Lamp',
  },
  'a value that chooses two alternatives': {
    change: choice(['[chair, stool]', '[chair, lamp]']),
    says: /`kind: lamp` chooses `Lamp` and `Chair`/,
    at: 'schemas/Chair',
  },
  'a mapping that the alternative does not allow': {
    change: choice(["lamp: '#", "light: '#"]),
    says: /`Lamp` does not allow `light` as its `kind`/,
    at: 'light:',
  },
  'a mapping to another schema': {
    change: choice(["lamp: '#/components/schemas/Lamp'", "lamp: '#/components/schemas/Thing'"]),
    says: /is not in `oneOf`/,
    at: 'schemas/Thing',
  },
  'an unknown parameter location': {
    change: ['name: limit, in: query,', 'name: limit, in: body,'],
    says: /`in` can be one of/,
    at: 'in: body',
  },
  'a parameter without a name': {
    change: ['name: limit, in: query,', 'in: query,'],
    says: /`name` must be present/,
    at: '{ in: query',
  },
  'a path item without a leading slash': {
    file: 'openapi.yaml',
    change: ['  /merged:', '  merged:'],
    says: /`merged` is not expected/,
    at: '  merged:',
  },
  'an unknown OpenAPI version': {
    file: 'openapi.yaml',
    change: ['openapi: 3.1.0', 'openapi: 3.9.0'],
    says: /3\.9\.0/,
    at: 'openapi: 3.9.0',
  },
  'a reference that is not text': {
    change: ["{ $ref: '#/components/schemas/Name' }", '{ $ref: 5 }'],
    says: /\$ref/,
    at: '{ $ref: 5 }',
  },
  'wrong indentation': {
    change: ['      summary: Get a thing', '     summary: Get a thing'],
    says: /indentation/,
    at: '     summary: Get a thing',
  },
  'merge conflict markers': {
    change: ['      summary: List things\n', '<<<<<<< HEAD\n      summary: List things\n=======\n'],
    says: /parse/,
    at: 'summary: List things',
  },
  'an unknown alias': {
    change: ["{ $ref: '#/components/schemas/Name' }", '*name'],
    says: /unidentified alias "name"/,
    at: '*name',
  },
  'two documents in a file': {
    change: ['components:\n', '---\ncomponents:\n'],
    says: /single document/,
    at: 'paths:',
  },
  'a tag declared twice': {
    file: 'openapi.yaml',
    change: ['  - { name: edge,', '  - { name: edge, description: Once. }\n  - { name: edge,'],
    says: /Duplicate tag name found: 'edge'/,
    at: 'name: edge',
  },
  'an unknown implied parameter': {
    file: 'openapi.yaml',
    change: ['x-implied-responses:', 'x-implied-parameters:\n  paged: [Cursor]\nx-implied-responses:'],
    says: /no `Cursor`/,
    at: 'Cursor',
  },
  'an unknown condition of implied parameters': {
    file: 'openapi.yaml',
    change: ['x-implied-responses:', 'x-implied-parameters:\n  listed: []\nx-implied-responses:'],
    says: /unknown `listed`/,
    at: 'listed',
  },
  'an unknown implied response': {
    file: 'openapi.yaml',
    change: ["'400': InvalidRequest", "'400': BadRequest"],
    says: /no `BadRequest`/,
    at: 'BadRequest',
  },
  'an unknown condition of implied responses': {
    file: 'openapi.yaml',
    change: ['  every: {', '  outcome: {'],
    says: /unknown `outcome`/,
    at: 'outcome',
  },
  'an unknown implied header': {
    file: 'openapi.yaml',
    change: ['X-Request-ID: RequestID', 'X-Request-ID: RequestId'],
    says: /no `RequestId`/,
    at: 'X-Request-ID',
  },
  'an unknown condition of implied headers': {
    file: 'openapi.yaml',
    change: ['  counted: {', '  limited: {'],
    says: /unknown `limited`: every, counted, unavailable, refused, replayable/,
    at: 'limited',
  },
  'a security scheme that the server does not support': {
    file: 'openapi.yaml',
    change: ['apiKey: { type: http, scheme: bearer }', 'apiKey: { type: apiKey, in: header, name: X-Key }'],
    says: /does not support the security scheme `apiKey`: declare `type: http`/,
    at: 'apiKey: { type: apiKey',
  },
  'a misspelled media type of a response': {
    change: ['content: { application/json: { schema: {', 'content: { application/jsn: { schema: {'],
    says: /`application\/jsn` response must be text or a file; a JSON body is `application\/json`/,
    at: 'application/jsn',
  },
  'a misspelled media type of a request body': {
    file: 'edge.yaml',
    change: ['content: { application/json: { schema: {', 'content: { application/jsn: { schema: {'],
    says: /no parser reads a `application\/jsn` request body/,
    at: 'application/jsn',
  },
  'a media type that is not registered': {
    file: 'edge.yaml',
    change: ['text/plain: { schema:', 'text/plian: { schema:'],
    says: /`text\/plian` is not a registered media type/,
    at: 'text/plian',
  },
  'a path item of two paths': {
    file: 'openapi.yaml',
    change: ['  /merged:', "  /again: { $ref: 'edge.yaml#/paths/merged' }\n  /merged:"],
    says: /`\/merged` and `\/again` refer to the same path item/,
    at: '  /merged:',
  },
  'a 201 without Location': {
    change: ["              Location: { $ref: '#/components/headers/Location' },\n", ''],
    says: /a 201 must declare the header Location/,
    at: "'201':",
  },
  'a file without the response to a range': {
    file: 'edge.yaml',
    change: [
      'text/plain: { schema: { type: string }',
      'text/plain: { schema: { type: string, format: binary }',
    ],
    says: /must declare 206/,
    at: "'200':",
  },
  'a file without the response to an unknown range': {
    file: 'edge.yaml',
    change: [
      'text/plain: { schema: { type: string }',
      'text/plain: { schema: { type: string, format: binary }',
    ],
    says: /must declare 416/,
    at: "'200':",
  },
  'a file without the response to a condition': {
    file: 'edge.yaml',
    change: [
      'text/plain: { schema: { type: string }',
      'text/plain: { schema: { type: string, format: binary }',
    ],
    says: /must declare 304, or the parameter IfNoneMatch/,
    at: "'200':",
  },
  'a file without the header ETag': {
    file: 'edge.yaml',
    change: [
      'text/plain: { schema: { type: string }',
      'text/plain: { schema: { type: string, format: binary }',
    ],
    says: /200 of a file must declare the header ETag/,
    at: "'200':",
  },
  'a property of a request that is read-only': {
    change: [
      "        name: { $ref: '#/components/schemas/Name' }\n    ThingList",
      '        name: { type: string, readOnly: true, examples: [Lamp] }\n    ThingList',
    ],
    says: /`ThingCreate.name` is `readOnly`/,
    at: 'readOnly: true',
  },
  'a property of an answer that is write-only': {
    change: ['made_at: { type: string,', 'made_at: { writeOnly: true, type: string,'],
    says: /`Thing.made_at` is `writeOnly`/,
    at: 'writeOnly: true',
  },
  'a pattern that takes exponential time': {
    change: ["pattern: '\\S'", "pattern: '^(\\w+\\s?)+$'"],
    says: /exponential or quadratic time/,
    at: "pattern: '^(\\w+",
  },
  'a pattern with alternatives that take exponential time': {
    change: ["pattern: '\\S'", "pattern: '^([a-z]|[a-z0-9])*$'"],
    says: /exponential or quadratic time/,
    at: "pattern: '^([a-z]|",
  },
  'a pattern that takes quadratic time': {
    change: ["pattern: '\\S'", "pattern: '\\s+$'"],
    says: /exponential or quadratic time/,
    at: "pattern: '\\s+$'",
  },
  'a path item that no path refers to': {
    file: 'openapi.yaml',
    change: ["  /merged: { $ref: 'edge.yaml#/paths/merged' }\n", ''],
    says: /no path refers to `merged`: add it to `paths` of openapi\.yaml/,
    at: 'merged:',
  },
  'a component that nothing refers to': {
    file: 'edge.yaml',
    change: ['    Label: {', '    Lable: { type: string, examples: [Lamp] }\n    Label: {'],
    says: /nothing refers to `components\/schemas\/Lable`/,
    at: 'Lable:',
  },
  'a component that only an unused component refers to': {
    file: 'edge.yaml',
    change: [
      '    Label: {',
      "    Lable: { $ref: '#/components/schemas/Inner' }\n    Inner: { type: string }\n    Label: {",
    ],
    says: /nothing refers to `components\/schemas\/Inner`/,
    at: 'Inner:',
  },
}

async function problemsOf(folder: string): Promise<Problem[]> {
  try {
    await readContract(join(folder, 'openapi.yaml'))
    await requireAllUsed(join(folder, 'openapi.yaml'))
    return []
  } catch (error) {
    if (error instanceof ContractError) return error.problems
    throw error
  }
}

t.test('the mini spec has no error', async (t) => {
  t.strictSame(await problemsOf(miniSpec), [])
})

type Named = [name: string, mistake: Mistake]

/** The mistakes of the group that are reported at their place when one copy of the mini spec has them all. */
async function reported(t: Test, group: Named[]): Promise<{ names: Set<string>; problems: Problem[] }> {
  const folder = join(t.testdir(), 'spec')
  cpSync(miniSpec, folder, { recursive: true })
  for (const [
    ,
    {
      file = 'things.yaml',
      change: [from, to],
    },
  ] of group) {
    const before = readFileSync(join(folder, file), 'utf8')
    writeFileSync(
      join(folder, file),
      before.replace(from, () => to),
    )
  }
  const problems = await problemsOf(folder)
  const texts = new Map(problems.map(({ file }) => [file, readFileSync(join(folder, '..', file), 'utf8')]))
  const isAt = ({ file, line, column, excerpt }: Problem, at: string): boolean => {
    const text = texts.get(file)!.split('\n')[line - 1] ?? ''
    return text.includes(at) && column >= 1 && column <= text.length + 1 && excerpt !== ''
  }
  const names = group
    .filter(([, { says, at }]) => problems.some((p) => says.test(p.message) && isAt(p, at)))
    .map(([name]) => name)
  return { names: new Set(names), problems }
}

/** Those that are hidden by others of the group are tried again without these. */
async function requireReported(t: Test, group: Named[]): Promise<void> {
  const { names, problems } = await reported(t, group)
  const hidden = group.filter(([name]) => !names.has(name))
  for (const name of names) t.pass(name)
  if (hidden.length === 0) return
  if (group.length === 1) {
    const [[name, { says, at }]] = group
    t.fail(`${name}: ${says} on the line with ${at}`, { found: problems })
    return
  }
  const half = hidden.length < group.length ? hidden.length : Math.ceil(hidden.length / 2)
  await requireReported(t, hidden.slice(0, half))
  if (half < hidden.length) await requireReported(t, hidden.slice(half))
}

/** How many mistakes share a copy of the spec. */
const groupSize = isLongForm ? 1 : 16
const all = Object.entries(mistakes)

for (let i = 0; i < all.length; i += groupSize)
  t.test(`mistakes from number ${i + 1} on are reported at their places`, async (t) => {
    await requireReported(t, all.slice(i, i + groupSize))
  })

t.test('a file that nothing refers to is reported', async (t) => {
  const folder = join(t.testdir(), 'spec')
  cpSync(miniSpec, folder, { recursive: true })
  const written: Array<[text: string, to: string]> = [
    ['paths:\n  tasks: {}\n', "add its paths to `paths` of openapi.yaml, such as `/tasks: { $ref: 'tasks"],
    ['paths:\n  tasks: { x-crud: { schema: Task } }\n', 'such as `/projects/{id}/tasks: { $ref: '],
    ['components: {}\n', 'refer to its components by `$ref`, or delete it'],
    ['paths: {\n', 'or delete it'],
  ]
  for (const [text, to] of written) {
    await writeFile(join(folder, 'tasks.yaml'), text)
    const [{ file, line, column, message }, ...others] = await problemsOf(folder)
    t.strictSame({ file, line, column, others }, { file: 'spec/tasks.yaml', line: 1, column: 1, others: [] })
    t.match(message, 'nothing refers to this file: ')
    t.match(message, to)
  }
})

t.test('patterns that take linear time are accepted', async (t) => {
  const linear = [
    '^[a-z]+( [a-z]+)*$',
    '^[^\\s,]([^,]*[^\\s,])?$',
    '^(?!\\.{1,2}$)[^/]+$',
    '^(a|b)*$',
    '\\p{L}',
  ]
  for (const pattern of linear) {
    const folder = join(t.testdir(), 'spec')
    cpSync(miniSpec, folder, { recursive: true })
    const file = join(folder, 'things.yaml')
    const text = await readFile(file, 'utf8')
    await writeFile(
      file,
      text.replace("pattern: '\\S'", () => `pattern: '${pattern}'`),
    )
    const rules = (await problemsOf(folder)).map(({ rule }) => rule)
    t.notOk(rules.includes('platform/pattern-backtracks'), pattern)
  }
})

t.test(
  'a spec with an error makes the command exit with 1, without output files or a stack trace',
  async (t) => {
    const folder = t.testdir()
    await cp(miniSpec, join(folder, 'spec'), { recursive: true })
    await mkdir(join(folder, 'out'))
    const file = join(folder, 'spec/things.yaml')
    await writeFile(file, (await readFile(file, 'utf8')).replace('things:read', 'things:look'))
    const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((done) => {
      execFile(
        process.execPath,
        [
          join(root, 'scripts/generate/main.ts'),
          '--spec',
          join(folder, 'spec/openapi.yaml'),
          '--out',
          join(folder, 'out'),
        ],
        (error, _stdout, stderr) => done({ code: error?.code, stderr }),
      )
    })
    t.equal(code, 1)
    t.match(stderr, /^spec\/things\.yaml:7:\d+ unknown scope/)
    t.match(stderr, /1 problem in the spec; nothing was written\./)
    t.notMatch(stderr, /\n\s+at /)
    t.strictSame(await readdir(join(folder, 'out')), [])
  },
)
