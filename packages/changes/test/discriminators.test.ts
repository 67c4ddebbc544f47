// Changes of `discriminator`, each as a part of a request and of a response. oasdiff reports all of them as
// INFO (`request-body-discriminator-added` and 23 more); here they count by what they do to clients.
import t from 'tap'
import { compareContracts } from '../compare.ts'

type Json = any

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

/** An object that `kind` chooses, with these values of it; `null` allows all. */
const chosen = (values: string[] | null, others: Json = {}): Json => ({
  type: 'object',
  required: ['kind', 'type'],
  properties: {
    kind: { type: 'string', ...(values !== null && { enum: values }) },
    type: { type: 'string' },
    ...others,
  },
})

const watts = { watts: { type: 'integer' } }
const legs = { legs: { type: 'string' } }

/** Lamp and Chair list their values of `kind`; Free and Other do not. */
const schemas = (): Json => ({
  Lamp: chosen(['lamp'], watts),
  Chair: chosen(['chair'], legs),
  Free: chosen(null, watts),
  Other: chosen(null, legs),
})

const listed = { oneOf: [ref('Lamp'), ref('Chair')] }
const free = { oneOf: [ref('Free'), ref('Other')] }
const by = (propertyName: string, mapping?: Record<string, string>): Json => ({
  discriminator: { propertyName, ...(mapping && { mapping }) },
})
const full = { lamp: ref('Lamp').$ref, chair: ref('Chair').$ref }
const own = { free: ref('Free').$ref, other: ref('Other').$ref }

type Found = [weight: string, rule: string]

/** The changes that are found, without the direction in their rules. */
function changesOf(direction: 'request' | 'response', before: Json, after: Json): Found[] {
  const contract = ({ components = {}, ...schema }: Json): Json => {
    const body = { content: { 'application/json': { schema } } }
    return {
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: {
        '/t': {
          post: {
            operationId: 'postT',
            ...(direction === 'request' && { requestBody: body }),
            responses: { 200: { description: 'OK.', ...(direction === 'response' && body) } },
          },
        },
      },
      components: { schemas: { ...schemas(), ...components } },
    }
  }
  return compareContracts(contract(before), contract(after)).map(({ weight, rule }) => [
    weight,
    rule.replace(`${direction}-`, ''),
  ])
}

const added = 'discriminator-added'
const removed = 'discriminator-removed'
const gone = 'discriminator-value-removed'
const come = 'discriminator-value-added'

const cases: Record<string, { before: Json; after: Json; request: Found[]; response: Found[] }> = {
  'added, where any value was allowed before': {
    before: free,
    after: { ...free, ...by('kind') },
    request: [['breaking', added]],
    response: [['safe', added]],
  },
  'added, where the alternatives listed its values': {
    before: listed,
    after: { ...listed, ...by('kind', full) },
    request: [['safe', added]],
    response: [['safe', added]],
  },
  'added, with a mapping without a value that was listed': {
    before: listed,
    after: { ...listed, ...by('kind', { light: full.lamp, chair: full.chair }) },
    request: [['breaking', added]],
    response: [['safe', added]],
  },
  'removed, where nothing else names the alternative': {
    before: { ...free, ...by('kind') },
    after: free,
    request: [['safe', removed]],
    response: [['breaking', removed]],
  },
  'removed, where the alternatives still list the values': {
    before: { ...listed, ...by('kind', full) },
    after: listed,
    request: [['safe', removed]],
    response: [['safe', removed]],
  },
  'another property': {
    before: { ...free, ...by('kind') },
    after: { ...free, ...by('type') },
    request: [['breaking', 'discriminator-property-changed']],
    response: [['breaking', 'discriminator-property-changed']],
  },
  'a value removed of two that choose the same schema': {
    before: { ...free, ...by('kind', { ...own, spare: own.free }) },
    after: { ...free, ...by('kind', own) },
    request: [['breaking', gone]],
    response: [['safe', gone]],
  },
  'a value added for the same schema': {
    before: { ...free, ...by('kind', own) },
    after: { ...free, ...by('kind', { ...own, spare: own.free }) },
    request: [['safe', come]],
    response: [['safe', come]],
  },
  'a schema under another value': {
    before: { ...free, ...by('kind', own) },
    after: { ...free, ...by('kind', { open: own.free, other: own.other }) },
    request: [
      ['breaking', gone],
      ['safe', come],
    ],
    response: [
      ['breaking', gone],
      ['safe', come],
    ],
  },
  'values that choose each other’s schema': {
    before: { ...free, ...by('kind', own) },
    after: { ...free, ...by('kind', { free: own.other, other: own.free }) },
    request: [
      ['breaking', 'discriminator-value-changed'],
      ['breaking', 'discriminator-value-changed'],
    ],
    response: [
      ['breaking', 'discriminator-value-changed'],
      ['breaking', 'discriminator-value-changed'],
    ],
  },
  'a schema that is renamed': {
    before: { ...free, ...by('kind', own) },
    after: {
      oneOf: [ref('Renamed'), ref('Other')],
      ...by('kind', { ...own, free: ref('Renamed').$ref }),
      components: { Renamed: schemas().Free },
    },
    request: [],
    response: [],
  },
  'a renamed schema whose name was its value': {
    before: { ...free, ...by('kind') },
    after: {
      oneOf: [ref('Renamed'), ref('Other')],
      ...by('kind'),
      components: { Renamed: schemas().Free },
    },
    request: [
      ['breaking', gone],
      ['safe', come],
    ],
    response: [
      ['breaking', gone],
      ['safe', come],
    ],
  },
  'an alternative more': {
    before: { ...free, ...by('kind', own) },
    after: { oneOf: [...free.oneOf, ref('Lamp')], ...by('kind', { ...own, lamp: full.lamp }) },
    request: [
      ['safe', 'oneOf-changed'],
      ['safe', come],
    ],
    response: [
      ['breaking', 'oneOf-changed'],
      ['safe', come],
    ],
  },
  'an alternative less': {
    before: { oneOf: [...free.oneOf, ref('Lamp')], ...by('kind', { ...own, lamp: full.lamp }) },
    after: { ...free, ...by('kind', own) },
    request: [
      ['breaking', 'oneOf-changed'],
      ['breaking', gone],
    ],
    response: [
      ['safe', 'oneOf-changed'],
      ['safe', gone],
    ],
  },
  'one schema becomes one of two': {
    before: ref('Lamp'),
    after: { ...listed, ...by('kind', full) },
    request: [
      ['safe', 'oneOf-changed'],
      ['safe', added],
    ],
    response: [
      ['breaking', 'oneOf-changed'],
      ['safe', added],
    ],
  },
  'a mapping that spells out the names of the schemas': {
    before: { ...free, ...by('kind') },
    after: { ...free, ...by('kind', { Free: 'Free', Other: own.other }) },
    request: [],
    response: [],
  },
  'a mapping that spells out the listed values': {
    before: { ...listed, ...by('kind') },
    after: { ...listed, ...by('kind', full) },
    request: [],
    response: [],
  },
  'a keyword that no rule knows': {
    before: { ...free, ...by('kind', own) },
    after: { ...free, discriminator: { propertyName: 'kind', mapping: own, defaultMapping: 'Free' } },
    request: [['breaking', 'unknown-changed']],
    response: [['breaking', 'unknown-changed']],
  },
  'an extension': {
    before: { ...free, ...by('kind', own) },
    after: { ...free, discriminator: { propertyName: 'kind', mapping: own, 'x-note': 1 } },
    request: [['documentation', 'text-changed']],
    response: [['documentation', 'text-changed']],
  },
}

for (const [name, { before, after, ...expected }] of Object.entries(cases))
  t.test(`discriminator: ${name}`, async (t) => {
    for (const direction of ['request', 'response'] as const) {
      t.same(changesOf(direction, before, after), expected[direction], direction)
      for (const same of [before, after]) t.same(changesOf(direction, same, structuredClone(same)), [])
    }
  })
