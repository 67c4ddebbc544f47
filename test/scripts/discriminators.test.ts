// A body whose alternative is chosen by a discriminator: validation, messages, answers, the mock server, the
// invalid requests of the tests and those of `npm run contract`.
import fc from 'fast-check'
import { join } from 'node:path'
import t from 'tap'
import { constraintsOf, nameOf } from '../../scripts/constraints/constraints.ts'
import { without } from '../../scripts/constraints/edit.ts'
import { mutationsOf } from '../../packages/contract/mutations.ts'
import { createValidation } from '../../packages/contract/validation.ts'
import { valuesOf } from '../../packages/contract/values.ts'
import { readContract } from '../../scripts/generate/contract.ts'
import { addDiscriminatorValues } from '../../packages/openapi/discriminators.ts'
import { operationsOf } from '../../scripts/generate/model.ts'
import { createMock } from '../../packages/mock/server.ts'
import { negativeCasesOf } from '../support/contract/constraint-cases.ts'
import { isDetected, problemsFor } from '../support/contract/constraint-mutants.ts'
import { createCaseBuilder, createChecks, isStructural } from '../support/contract/constraint-negatives.ts'
import { requestRoots, sitesOf } from '../support/contract/constraint-sites.ts'
import { addDiscriminated } from '../support/operations/discriminated-operation.ts'
import { miniProject } from '../support/generator/mini-project.ts'

const others =
  'postAlias getMerged postStrict postOptional getNumber getBatch ' +
  'listThings createThing getThing updateThing useThing watchThings'
const project = await miniProject(t.testdir(), {
  'handlers/things.ts': 'export const things = {}\n',
  'handlers/edge.ts': `const none = async () => ({ status: 500 })
export const edge = {
  ${others
    .split(' ')
    .map((id) => `${id}: none`)
    .join(', ')},
  createShape: async ({ body }) => ({
    status: 200,
    body: {
      first: { kind: body.kind, size: 1, corners: 'sharp', secret: 1 },
      second: { kind: 'Cube', width: 1, depth: 2, secret: 1 },
    },
  }),
}\n`,
})
await addDiscriminated(project)
await project.generate()
const document = await readContract(join(project.folder, 'spec/openapi.yaml'))

const app = await project.build()
t.teardown(() => app.close())

async function send(body: unknown): Promise<{ status: number; body: any; problems: string[] }> {
  const response = await app.inject({ method: 'POST', url: '/v1/shapes', payload: body as object })
  const problems = (response.json().error?.details.errors ?? []).map(
    ({ field, constraint, message }: any) => `${field} ${constraint}: ${message}`,
  )
  return { status: response.statusCode, body: response.json(), problems }
}

t.test('only the problems of the chosen alternative are reported', async (t) => {
  const cases: Array<[body: unknown, problems: string[]]> = [
    [{ kind: 'circle' }, ['radius required: radius is required']],
    [
      { kind: 'circle', radius: 0, side: 1 },
      ['side additionalProperties: Unknown field: side', 'radius minimum: radius must be at least 1'],
    ],
    [{ kind: 'box', side: 10 }, ['side maximum: side must be at most 9']],
    [{ kind: 'oval', side: 10 }, ['kind enum: kind must be one of circle, square, box']],
    [{ radius: 1 }, ['kind required: kind is required']],
    [{ kind: 5 }, ['kind enum: kind must be one of circle, square, box']],
    [[], ['body type: body must be an object']],
  ]
  for (const [body, problems] of cases)
    t.strictSame((await send(body)).problems, problems, JSON.stringify(body))
})

t.test('the chosen alternative serializes the answer', async (t) => {
  const circle = await send({ kind: 'circle', radius: 1 })
  t.strictSame(circle.body, {
    first: { kind: 'circle', size: 1 },
    second: { kind: 'Cube', width: 1, depth: 2 },
  })
  t.strictSame((await send({ kind: 'box', side: 1 })).body.first, { kind: 'box', size: 1, corners: 'sharp' })
})

t.test('the published document has every value, also where the schemas leave them out', async (t) => {
  const { schemas } = JSON.parse(await project.read('generated/openapi.json')).components
  t.strictSame(schemas.ShapeCreate.discriminator.mapping, {
    circle: '#/components/schemas/CircleCreate',
    square: '#/components/schemas/SquareCreate',
    box: '#/components/schemas/SquareCreate',
  })
  // An answer, whose other enums are open.
  const chosenBy = (name: string, ...kinds: string[]): object => ({
    allOf: [{ $ref: `#/components/schemas/${name}` }, { properties: { kind: { enum: kinds } } }],
  })
  t.strictSame(schemas.Shape.oneOf, [chosenBy('Circle', 'circle'), chosenBy('Square', 'square', 'box')])
  t.strictSame(schemas.Named.oneOf, [chosenBy('Ring', 'Ring'), chosenBy('Cube', 'Cube')])
})

t.test('the mock server chooses the alternative, and answers with valid ones', async (t) => {
  const mock = await createMock({ document })
  t.teardown(() => mock.close())
  const post = (payload: object) => mock.inject({ method: 'POST', url: '/v1/shapes', payload })
  const wrong = (await post({ kind: 'circle', side: 3 })).json().error.details.errors
  t.strictSame(
    wrong.map(({ field, constraint }: any) => `${field} ${constraint}`),
    ['radius required', 'side additionalProperties'],
  )
  const answer = (await post({ kind: 'square', side: 3 })).json()
  t.strictSame(
    createValidation(document, { closed: true }).answered('#/components/schemas/Shapes', answer),
    [],
  )
  t.strictSame([answer.first.kind, answer.second.kind], ['circle', 'Ring'])
})

t.test('the tests can break each constraint of each alternative', async (t) => {
  const check = createChecks(document)
  const operation = operationsOf(document).find(({ id }) => id === 'createShape')!
  const broken: string[] = []
  for (const root of requestRoots(document, operation)) {
    const build = createCaseBuilder(document, check, root)
    for (const site of sitesOf(document, root).filter((each) => !isStructural(each))) {
      const name = nameOf(site.constraint).replace('/components/schemas/', '')
      const found = build(site)
      if (!('expected' in found)) {
        t.equal(found.rule, 'chooses', name)
        continue
      }
      broken.push(name)
      t.equal(found.expected.length, 1, `${name} is broken alone`)
      t.strictSame(problemsFor(document, found), found.expected, name)
    }
  }
  for (const name of ['CircleCreate/required/radius', 'CircleCreate/additionalProperties'])
    t.ok(broken.includes(name), name)
  for (const name of ['SquareCreate/properties/side/maximum', 'SquareCreate/properties/corners/maxLength'])
    t.ok(broken.includes(name), name)
})

t.test('the tests notice a constraint of an alternative that is deleted', async (t) => {
  const place = '/components/schemas/SquareCreate/properties/side'
  const constraint = { place, keyword: 'maximum' }
  const all = new Map([...constraintsOf(document)].filter(([each]) => each === place))
  const { byConstraint } = negativeCasesOf(document, createChecks(document), all)
  const cases = byConstraint.get(nameOf(constraint))!
  t.ok(isDetected(document, constraint, cases))
  t.notOk(isDetected(without(document, { place, keyword: 'examples' }), { place, keyword: 'title' }, cases))
})

t.test('npm run contract sends valid alternatives, and breaks the one that it sends', async (t) => {
  // A contract of another server, whose mapping and values are left out.
  const foreign = structuredClone(document)
  const { Named, Ring, Cube } = foreign.components.schemas
  delete Named.discriminator.mapping
  for (const schema of [Ring, Cube]) delete schema.properties.kind.enum
  addDiscriminatorValues(foreign)
  const validation = createValidation(foreign, { closed: true })
  const ids = { ids: () => [], named: () => [] }
  for (const name of ['ShapeCreate', 'Named']) {
    const pointer = `#/components/schemas/${name}`
    const values = fc.sample(valuesOf(foreign, { $ref: pointer }, ids)!, { numRuns: 20, seed: 1 })
    t.ok(new Set(values.map(({ kind }) => kind)).size > 1, `${name}: each alternative`)
    for (const value of values) t.strictSame(validation.asked(pointer, value), [], JSON.stringify(value))
  }
  const fields = mutationsOf(foreign, { $ref: '#/components/schemas/ShapeCreate' }, { kind: 'box', side: 3 })
    .filter(({ value }) => validation.asked('#/components/schemas/ShapeCreate', value).length > 0)
    .map(({ field, keyword }) => `${field} ${keyword}`)
  for (const name of ['kind enum', 'kind required', 'side maximum', 'side required', 'side type'])
    t.ok(fields.includes(name), name)
  t.notOk(
    fields.some((name) => name.startsWith('radius')),
    'nothing of the other alternative',
  )
})
