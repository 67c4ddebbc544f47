// The rules of oasdiff (https://github.com/oasdiff/oasdiff, commit 4553c69d) of the levels ERR and WARN, each
// with a change that it reports. `npm run changes` must call the change breaking too, or the table says why
// not.
/* oxlint-disable unicorn/no-thenable -- a keyword of JSON Schema */
import t from 'tap'
import { announcementOf } from '../announced.ts'
import { compareContracts } from '../compare.ts'

type Json = any

const today = new Date('2026-06-01')

const json = (schema: Json): Json => ({ content: { 'application/json': { schema } } })
const object = (p: Json): Json => ({ type: 'object', properties: { p } })

/** A contract with one operation. The other parts are for the changes that concern no schema. */
const contract = (): Json => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  servers: [{ url: '/v1' }],
  paths: {
    '/t/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      post: {
        operationId: 'postT',
        parameters: [
          { name: 'q', in: 'query', schema: {} },
          { name: 'd', in: 'query', style: 'deepObject', schema: object({}) },
          { name: 'h', in: 'header', schema: object({ p: { type: 'string' } }) },
        ],
        requestBody: json({}),
        responses: {
          200: { description: 'OK.', headers: { X: { required: true, schema: {} } }, ...json({}) },
          202: { description: 'Later.' },
        },
      },
      get: { operationId: 'getT', responses: { 200: { description: 'OK.' } } },
    },
  },
  webhooks: { made: { post: { requestBody: json({}) } } },
})
const operation = (c: Json): Json => c.paths['/t/{id}'].post
const parameters = (c: Json): Json[] => operation(c).parameters
const media = (holder: Json): Json => holder.content['application/json']
const ok = (c: Json): Json => operation(c).responses[200]

/** Where a rule with this prefix has its schema. The longest prefix counts. */
const places: Record<string, (c: Json, schema: Json) => void> = {
  'request-body-': (c, schema) => (media(operation(c).requestBody).schema = schema),
  'request-property-': (c, schema) => (media(operation(c).requestBody).schema = object(schema)),
  'request-parameter-': (c, schema) => (parameters(c)[0].schema = schema),
  'request-parameter-property-': (c, schema) => (parameters(c)[1].schema = object(schema)),
  'request-header-property-': (c, schema) => (parameters(c)[2].schema = object(schema)),
  'response-body-': (c, schema) => (media(ok(c)).schema = schema),
  'response-property-': (c, schema) => (media(ok(c)).schema = object(schema)),
  'response-header-': (c, schema) => (ok(c).headers.X.schema = schema),
}

const text = { type: 'string' }
const number = { type: 'number' }
const integer = { type: 'integer' }
const list = { type: 'array', items: {} }
const some = { type: 'object', properties: { a: text, b: text } }

/** Changes of a schema: the ends of the rules' names, before, after. */
const narrower: Array<[rules: string, before: Json, after: Json]> = [
  ['body-all-of-added property-all-of-added', some, { allOf: [some, { required: ['a'] }] }],
  ['body-any-of-removed property-any-of-removed', { anyOf: [text, integer] }, { anyOf: [text] }],
  ['body-one-of-removed property-one-of-removed', { oneOf: [text, integer] }, { oneOf: [text] }],
  ['body-became-enum property-became-enum', text, { ...text, enum: ['a', 'b'] }],
  ['parameter-became-enum header-property-became-enum', text, { ...text, enum: ['a', 'b'] }],
  ['body-became-not-nullable property-became-not-nullable', { type: ['string', 'null'] }, text],
  [
    'parameter-became-not-nullable parameter-property-became-not-nullable',
    { type: ['string', 'null'] },
    text,
  ],
  ['body-const-added property-const-added', text, { ...text, const: 'a' }],
  ['body-const-changed property-const-changed', { const: 'a' }, { const: 'b' }],
  ['body-contains-added property-contains-added', list, { ...list, contains: text }],
  [
    'body-content-encoding-changed property-content-encoding-changed',
    { ...text, contentEncoding: 'base64' },
    { ...text, contentEncoding: 'base32' },
  ],
  [
    'body-content-media-type-changed property-content-media-type-changed',
    { ...text, contentMediaType: 'image/png' },
    { ...text, contentMediaType: 'image/webp' },
  ],
  [
    'body-content-schema-added property-content-schema-added',
    { ...text, contentMediaType: 'application/json' },
    { ...text, contentMediaType: 'application/json', contentSchema: some },
  ],
  [
    'body-dependent-required-added property-dependent-required-added',
    some,
    { ...some, dependentRequired: { a: ['b'] } },
  ],
  [
    'body-dependent-required-changed property-dependent-required-changed',
    { ...some, dependentRequired: { a: ['b'] } },
    { ...some, dependentRequired: { a: ['b', 'c'] } },
  ],
  [
    'body-dependent-schema-added property-dependent-schema-added',
    some,
    { ...some, dependentSchemas: { a: { required: ['b'] } } },
  ],
  ['body-if-added property-if-added', some, { ...some, if: { required: ['a'] }, then: { required: ['b'] } }],
  [
    'body-then-added property-then-added',
    { ...some, if: { required: ['a'] }, else: { required: ['b'] } },
    { ...some, if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['b'] } },
  ],
  [
    'body-else-added property-else-added',
    { ...some, if: { required: ['a'] }, then: { required: ['b'] } },
    { ...some, if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['b'] } },
  ],
  [
    'body-enum-value-removed property-enum-value-removed parameter-enum-value-removed',
    { ...text, enum: ['a', 'b'] },
    { ...text, enum: ['a'] },
  ],
  ['parameter-property-enum-value-removed', { ...text, enum: ['a', 'b'] }, { ...text, enum: ['a'] }],
  [
    'body-exclusive-max-decreased property-exclusive-max-decreased parameter-exclusive-max-decreased',
    { ...number, exclusiveMaximum: 9 },
    { ...number, exclusiveMaximum: 8 },
  ],
  [
    'body-exclusive-min-increased property-exclusive-min-increased parameter-exclusive-min-increased',
    { ...number, exclusiveMinimum: 1 },
    { ...number, exclusiveMinimum: 2 },
  ],
  [
    'body-list-of-types-narrowed property-list-of-types-narrowed parameter-list-of-types-narrowed',
    { type: ['string', 'integer', 'boolean'] },
    { type: ['string', 'integer'] },
  ],
  [
    'parameter-property-list-of-types-narrowed',
    { type: ['string', 'integer', 'boolean'] },
    { type: ['string', 'integer'] },
  ],
  [
    'body-max-contains-decreased property-max-contains-decreased',
    { ...list, contains: text, maxContains: 3 },
    { ...list, contains: text, maxContains: 2 },
  ],
  [
    'body-min-contains-increased property-min-contains-increased',
    { ...list, contains: text },
    { ...list, contains: text, minContains: 2 },
  ],
  [
    'body-max-decreased property-max-decreased parameter-max-decreased',
    { ...number, maximum: 9 },
    { ...number, maximum: 8 },
  ],
  [
    'body-min-increased property-min-increased parameter-min-increased',
    { ...number, minimum: 1 },
    { ...number, minimum: 2 },
  ],
  [
    'body-max-length-decreased property-max-length-decreased parameter-max-length-decreased',
    { ...text, maxLength: 9 },
    { ...text, maxLength: 8 },
  ],
  [
    'body-min-length-increased property-min-length-increased parameter-min-length-increased',
    { ...text, minLength: 1 },
    { ...text, minLength: 2 },
  ],
  [
    'body-min-items-increased property-min-items-increased parameter-min-items-increased',
    { ...list, minItems: 1 },
    { ...list, minItems: 2 },
  ],
  ['parameter-max-items-decreased', { ...list, maxItems: 3 }, { ...list, maxItems: 2 }],
  [
    'body-pattern-property-added property-pattern-property-added',
    some,
    { ...some, patternProperties: { '^x-': text } },
  ],
  ['property-pattern-added parameter-pattern-added', text, { ...text, pattern: '^a' }],
  [
    'body-prefix-items-removed property-prefix-items-removed',
    { type: 'array', prefixItems: [text, integer], items: false },
    { type: 'array', prefixItems: [text], items: false },
  ],
  [
    'body-property-names-added property-property-names-added',
    { type: 'object' },
    { type: 'object', propertyNames: { pattern: '^a' } },
  ],
  ['body-type-changed property-type-changed parameter-type-changed', text, integer],
  ['parameter-property-type-specialized', number, integer],
  [
    'body-unevaluated-items-added property-unevaluated-items-added',
    { type: 'array', prefixItems: [text] },
    { type: 'array', prefixItems: [text], unevaluatedItems: false },
  ],
  [
    'body-unevaluated-properties-added property-unevaluated-properties-added',
    some,
    { ...some, unevaluatedProperties: false },
  ],
  ['body-wrapped-in-one-of', some, { oneOf: [some, { type: 'object', required: ['c'] }] }],
  ['property-became-required', some, { ...some, required: ['a'] }],
  [
    'property-became-required-with-default',
    { type: 'object', properties: { a: { ...text, default: 'x' } } },
    { type: 'object', required: ['a'], properties: { a: { ...text, default: 'x' } } },
  ],
  ['header-property-became-required', some, { ...some, required: ['a'] }],
  ['parameter-default-value-added', text, { ...text, default: 'a' }],
  ['parameter-default-value-changed', { ...text, default: 'a' }, { ...text, default: 'b' }],
  ['parameter-default-value-removed', { ...text, default: 'a' }, text],
]

const wider: typeof narrower = [
  [
    'body-became-nullable property-became-nullable header-became-nullable',
    text,
    { type: ['string', 'null'] },
  ],
  ['body-const-changed property-const-changed', { const: 'a' }, { const: 'b' }],
  ['body-const-removed property-const-removed', { ...text, const: 'a' }, text],
  ['body-contains-removed property-contains-removed', { ...list, contains: text }, list],
  [
    'body-content-encoding-changed property-content-encoding-changed',
    { ...text, contentEncoding: 'base64' },
    { ...text, contentEncoding: 'base32' },
  ],
  [
    'body-content-media-type-changed property-content-media-type-changed',
    { ...text, contentMediaType: 'image/png' },
    { ...text, contentMediaType: 'image/webp' },
  ],
  [
    'body-content-schema-removed property-content-schema-removed',
    { ...text, contentMediaType: 'application/json', contentSchema: some },
    { ...text, contentMediaType: 'application/json' },
  ],
  [
    'body-dependent-required-removed property-dependent-required-removed',
    { ...some, dependentRequired: { a: ['b'] } },
    some,
  ],
  [
    'body-dependent-required-changed property-dependent-required-changed',
    { ...some, dependentRequired: { a: ['b', 'c'] } },
    { ...some, dependentRequired: { a: ['b'] } },
  ],
  [
    'body-dependent-schema-removed property-dependent-schema-removed',
    { ...some, dependentSchemas: { a: { required: ['b'] } } },
    some,
  ],
  [
    'body-if-removed property-if-removed',
    { ...some, if: { required: ['a'] }, then: { required: ['b'] } },
    some,
  ],
  [
    'body-then-removed property-then-removed',
    { ...some, if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['b'] } },
    { ...some, if: { required: ['a'] }, else: { required: ['b'] } },
  ],
  [
    'body-else-removed property-else-removed',
    { ...some, if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['b'] } },
    { ...some, if: { required: ['a'] }, then: { required: ['b'] } },
  ],
  [
    'body-exclusive-max-increased property-exclusive-max-increased',
    { ...number, exclusiveMaximum: 8 },
    { ...number, exclusiveMaximum: 9 },
  ],
  [
    'body-exclusive-min-decreased property-exclusive-min-decreased',
    { ...number, exclusiveMinimum: 2 },
    { ...number, exclusiveMinimum: 1 },
  ],
  [
    'body-list-of-types-widened property-list-of-types-widened',
    { type: ['string', 'integer'] },
    { type: ['string', 'integer', 'boolean'] },
  ],
  [
    'body-max-contains-increased property-max-contains-increased',
    { ...list, contains: text, maxContains: 2 },
    { ...list, contains: text, maxContains: 3 },
  ],
  [
    'body-min-contains-decreased property-min-contains-decreased',
    { ...list, contains: text, minContains: 2 },
    { ...list, contains: text },
  ],
  ['body-max-increased property-max-increased', { ...number, maximum: 8 }, { ...number, maximum: 9 }],
  ['body-min-decreased property-min-decreased', { ...number, minimum: 2 }, { ...number, minimum: 1 }],
  [
    'body-max-length-increased property-max-length-increased',
    { ...text, maxLength: 8 },
    { ...text, maxLength: 9 },
  ],
  ['body-max-length-unset property-max-length-unset', { ...text, maxLength: 8 }, text],
  [
    'body-min-length-decreased property-min-length-decreased',
    { ...text, minLength: 2 },
    { ...text, minLength: 1 },
  ],
  [
    'body-min-items-decreased property-min-items-decreased',
    { ...list, minItems: 2 },
    { ...list, minItems: 1 },
  ],
  ['body-min-items-unset property-min-items-unset', { ...list, minItems: 2 }, list],
  ['body-one-of-added property-one-of-added', { oneOf: [text, integer] }, { oneOf: [text, integer, list] }],
  [
    'body-pattern-property-removed property-pattern-property-removed',
    { ...some, patternProperties: { '^x-': text } },
    some,
  ],
  [
    'body-prefix-items-added property-prefix-items-added',
    { type: 'array', prefixItems: [text], items: false },
    { type: 'array', prefixItems: [text, integer], items: false },
  ],
  [
    'body-property-names-removed property-property-names-removed',
    { type: 'object', propertyNames: { pattern: '^a' } },
    { type: 'object' },
  ],
  ['body-type-changed property-type-changed header-type-changed', text, integer],
  ['body-type-generalized property-type-generalized header-type-generalized', integer, number],
  [
    'body-unevaluated-items-removed property-unevaluated-items-removed',
    { type: 'array', prefixItems: [text], unevaluatedItems: false },
    { type: 'array', prefixItems: [text] },
  ],
  [
    'body-unevaluated-properties-removed property-unevaluated-properties-removed',
    { ...some, unevaluatedProperties: false },
    some,
  ],
  ['body-wrapped-in-one-of', some, { oneOf: [some, { type: 'object', required: ['c'] }] }],
  ['property-became-optional', { ...some, required: ['a'] }, some],
]

/** Changes of a schema that oasdiff only warns of, in requests. */
const warned: typeof narrower = [
  ['body-all-of-removed property-all-of-removed', { allOf: [some, { required: ['a'] }] }, { allOf: [some] }],
  [
    'body-exclusive-max-set property-exclusive-max-set parameter-exclusive-max-set',
    number,
    { ...number, exclusiveMaximum: 9 },
  ],
  [
    'body-exclusive-min-set property-exclusive-min-set parameter-exclusive-min-set',
    number,
    { ...number, exclusiveMinimum: 1 },
  ],
  ['body-max-length-set property-max-length-set parameter-max-length-set', text, { ...text, maxLength: 9 }],
  ['body-max-set property-max-set parameter-max-set', number, { ...number, maximum: 9 }],
  ['body-min-set property-min-set parameter-min-set', number, { ...number, minimum: 1 }],
  ['body-min-items-set property-min-items-set parameter-min-items-set', list, { ...list, minItems: 1 }],
  [
    'property-pattern-changed parameter-pattern-changed',
    { ...text, pattern: 'a' },
    { ...text, pattern: 'b' },
  ],
  ['parameter-property-type-changed', text, integer],
]

type Change = [before: (c: Json) => void, after: (c: Json) => void]

const nothing = (): void => {}
const deprecated = (node: Json, sunset?: string): void => {
  node.deprecated = true
  if (sunset !== undefined) node['x-sunset'] = sunset
}
const removePost = (c: Json): void => {
  delete c.paths['/t/{id}'].post
}
const removePath = (c: Json): void => {
  delete c.paths['/t/{id}']
}

/** Changes that concern more than one schema. */
const others: Record<string, Change> = {
  'api-removed-without-deprecation': [nothing, removePost],
  'api-removed-before-sunset': [(c) => deprecated(operation(c), '2030-01-01'), removePost],
  'api-path-removed-without-deprecation': [nothing, removePath],
  'api-path-removed-before-sunset': [(c) => deprecated(operation(c), '2030-01-01'), removePath],
  'api-path-sunset-parse': [(c) => deprecated(operation(c), 'soon'), removePath],
  'api-deprecated-sunset-missing': [nothing, (c) => deprecated(operation(c))],
  'api-deprecated-sunset-parse': [nothing, (c) => deprecated(operation(c), 'soon')],
  'sunset-deleted': [(c) => deprecated(operation(c), '2030-01-01'), (c) => deprecated(operation(c))],
  'api-sunset-date-changed-too-small': [
    (c) => deprecated(operation(c), '2030-01-01'),
    (c) => deprecated(operation(c), '2026-06-02'),
  ],
  'new-request-path-parameter': [
    nothing,
    (c) => {
      c.paths['/t/{id}/{other}'] = c.paths['/t/{id}']
      c.paths['/t/{id}/{other}'].parameters.push({ name: 'other', in: 'path', required: true, schema: text })
      removePath(c)
    },
  ],
  'new-required-request-default-parameter-to-existing-path': [
    nothing,
    (c) => c.paths['/t/{id}'].parameters.push({ name: 'n', in: 'query', required: true, schema: text }),
  ],
  'new-required-request-parameter': [
    nothing,
    (c) => parameters(c).push({ name: 'n', in: 'query', required: true, schema: text }),
  ],
  'new-required-request-header-property': [
    nothing,
    (c) => {
      parameters(c)[2].schema.properties.n = text
      parameters(c)[2].schema.required = ['n']
    },
  ],
  'new-required-request-property': [
    (c) => places['request-body-'](c, { type: 'object', properties: { a: text } }),
    (c) => places['request-body-'](c, { type: 'object', required: ['b'], properties: { a: text, b: text } }),
  ],
  'new-required-request-property-with-default': [
    (c) => places['request-body-'](c, { type: 'object', properties: { a: text } }),
    (c) =>
      places['request-body-'](c, {
        type: 'object',
        required: ['b'],
        properties: { a: text, b: { ...text, default: 'x' } },
      }),
  ],
  'request-body-added-required': [
    (c) => delete operation(c).requestBody,
    (c) => (operation(c).requestBody = { required: true, ...json({}) }),
  ],
  'request-body-became-required': [nothing, (c) => (operation(c).requestBody.required = true)],
  'request-body-removed': [nothing, (c) => delete operation(c).requestBody],
  'request-body-media-type-removed': [
    (c) => (operation(c).requestBody.content['application/xml'] = {}),
    nothing,
  ],
  'request-body-media-type-schema-added': [
    (c) => delete media(operation(c).requestBody).schema,
    (c) => places['request-body-'](c, some),
  ],
  'request-parameter-became-required': [nothing, (c) => (parameters(c)[0].required = true)],
  'request-parameter-removed-before-sunset': [
    (c) => deprecated(parameters(c)[0], '2030-01-01'),
    (c) => parameters(c).shift(),
  ],
  'required-response-header-removed': [nothing, (c) => delete ok(c).headers.X],
  'response-header-became-optional': [nothing, (c) => delete ok(c).headers.X.required],
  'response-media-type-name-generalized': [
    nothing,
    (c) => (ok(c).content = { 'application/*': ok(c).content['application/json'] }),
  ],
  'response-media-type-removed': [(c) => (ok(c).content['application/xml'] = {}), nothing],
  'response-required-property-removed': [
    (c) => places['response-body-'](c, { ...some, required: ['a', 'b'] }),
    (c) => places['response-body-'](c, { type: 'object', required: ['a'], properties: { a: text } }),
  ],
  'response-success-status-removed': [nothing, (c) => delete operation(c).responses[202]],
  'webhook-removed': [nothing, (c) => delete c.webhooks.made],
}

const warnedOthers: Record<string, Change> = {
  'optional-response-header-removed': [(c) => delete ok(c).headers.X.required, (c) => delete ok(c).headers.X],
  'request-parameter-removed': [nothing, (c) => parameters(c).shift()],
  'request-property-removed': [
    (c) => places['request-body-'](c, { ...some, additionalProperties: false }),
    (c) =>
      places['request-body-'](c, { type: 'object', additionalProperties: false, properties: { a: text } }),
  ],
  'response-body-media-type-schema-removed': [
    (c) => places['response-body-'](c, some),
    (c) => delete media(ok(c)).schema,
  ],
  'response-optional-property-removed': [
    (c) => places['response-body-'](c, some),
    (c) => places['response-body-'](c, { type: 'object', properties: { a: text } }),
  ],
  'response-property-enum-value-added': [
    (c) => places['response-property-'](c, { ...text, enum: ['a', 'b'] }),
    (c) => places['response-property-'](c, { ...text, enum: ['a', 'b', 'c'] }),
  ],
  'response-required-property-became-not-write-only': [
    (c) =>
      places['response-body-'](c, {
        ...some,
        required: ['a'],
        properties: { a: { ...text, writeOnly: true } },
      }),
    (c) => places['response-body-'](c, { ...some, required: ['a'], properties: { a: text } }),
  ],
}

const openAnswers =
  'Answers are open: by the contract, clients accept fields that they do not know (info.description).'
const sunsetOfOperations =
  'Only operations have a sunset date: the lint refuses `x-sunset` elsewhere. A deprecated parameter or ' +
  'field stays until it is removed, which is breaking.'
const noStability = 'The lint refuses `x-stability-level`: every published operation is stable.'
const noExtensibleEnum =
  'The lint refuses `x-extensible-enum`: an extensible enum is an `anyOf` with a plain type.'

/** Rules that this project does not follow, with the reason. Those with a change above are tried, too. */
const differs: Record<string, string> = {
  'response-body-unevaluated-properties-removed': openAnswers,
  'response-property-unevaluated-properties-removed': openAnswers,
  'api-sunset-date-too-small':
    'The lint requires six months between `x-deprecated-at` and `x-sunset` (platform/deprecation).',
  'api-stability-decreased': noStability,
  'api-invalid-stability-level': noStability,
  'request-property-stability-decreased': noStability,
  'response-property-stability-decreased': noStability,
  'request-parameter-x-extensible-enum-value-removed': noExtensibleEnum,
  'request-property-x-extensible-enum-value-removed': noExtensibleEnum,
  'request-parameter-deprecated-sunset-missing': sunsetOfOperations,
  'request-parameter-sunset-date-changed-too-small': sunsetOfOperations,
  'request-parameter-sunset-date-too-small': sunsetOfOperations,
  'request-parameter-sunset-deleted': sunsetOfOperations,
  'request-parameter-sunset-parse': sunsetOfOperations,
  'request-property-deprecated-sunset-invalid': sunsetOfOperations,
  'request-property-deprecated-sunset-missing': sunsetOfOperations,
  'request-property-sunset-date-too-small': sunsetOfOperations,
  'response-property-deprecated-sunset-invalid': sunsetOfOperations,
  'response-property-deprecated-sunset-missing': sunsetOfOperations,
  'response-property-sunset-date-too-small': sunsetOfOperations,
}
const warnedDiffers: Record<string, string> = {
  'request-body-all-of-removed': 'A request may hold more than before.',
  'request-property-all-of-removed': 'A request may hold more than before.',
  'response-property-enum-value-added':
    'By the contract, clients accept values that they do not know (info.description).',
  'response-required-property-became-not-write-only': openAnswers,
}

/** The rules with this direction and their changes. */
function ofSchemas(direction: string, changes: typeof narrower): Array<[string, Change]> {
  return changes.flatMap(([rules, before, after]) =>
    rules.split(' ').map((end): [string, Change] => {
      const rule = `${direction}-${end}`
      const prefix = Object.keys(places)
        .filter((each) => rule.startsWith(each))
        .sort((a, b) => b.length - a.length)[0]
      return [rule, [(c) => places[prefix](c, before), (c) => places[prefix](c, after)]]
    }),
  )
}

function isBreaking([before, after]: Change): boolean {
  const [was, is] = [contract(), contract()]
  before(was)
  after(is)
  return compareContracts(structuredClone(was), structuredClone(is)).some(
    (change) => change.weight === 'breaking' && announcementOf(was, change, today) === null,
  )
}

function hold(
  level: string,
  count: number,
  changes: Array<[string, Change]>,
  reasons: Record<string, string>,
): void {
  t.test(`every rule of the level ${level} is held, or the table says why not`, async (t) => {
    const rules = new Set([...changes.map(([rule]) => rule), ...Object.keys(reasons)])
    t.equal(rules.size, count, 'every rule is in the table once')
    t.equal(new Set(changes.map(([rule]) => rule)).size, changes.length, 'no rule is in the table twice')
    let agreed = 0
    for (const [rule, change] of changes) {
      t.notOk(isBreaking([change[0], change[0]]), `${rule}: no change breaks nothing`)
      const found = isBreaking(change)
      if (found) agreed++
      t.equal(found, reasons[rule] === undefined, reasons[rule] ?? rule)
    }
    t.comment(`oasdiff ${level}: ${agreed} of ${count} rules agree, ${count - agreed} differ for a reason`)
  })
}

hold(
  'ERR',
  213,
  [...ofSchemas('request', narrower), ...ofSchemas('response', wider), ...Object.entries(others)],
  differs,
)
hold('WARN', 30, [...ofSchemas('request', warned), ...Object.entries(warnedOthers)], warnedDiffers)

t.test('the reverse of a breaking change of a schema is safe, unless both may break clients', async (t) => {
  const both = /(changed|default-value-(added|removed)|wrapped-in-one-of)$/
  const all = [
    ...ofSchemas('request', narrower),
    ...ofSchemas('request', warned),
    ...ofSchemas('response', wider),
  ]
  for (const [rule, [before, after]] of all)
    if (!both.test(rule) && warnedDiffers[rule] === undefined) t.notOk(isBreaking([after, before]), rule)
})
