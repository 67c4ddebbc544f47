// The output generated from x-events: the enum of event types, the webhooks of the published document and
// the table of events.
import t from 'tap'
import { miniProject } from '../support/generator/mini-project.ts'

const project = await miniProject(t.testdir())
await project.generate()
const published = JSON.parse(await project.read('generated/openapi.json'))
const { schemas } = published.components

t.test('an enum of event types has all declared types and its own values', (t) => {
  t.strictSame(schemas.PlatformEvent.properties.type.anyOf[0].enum, ['thing.made', 'thing.moved', 'other'])
  t.end()
})

t.test('each event is a webhook whose payload has its type, object and previous attributes', (t) => {
  t.strictSame(Object.keys(published.webhooks), ['thing.made', 'thing.moved'])
  const { post } = published.webhooks['thing.made']
  t.equal(post.summary, 'thing.made')
  t.equal(post.operationId, 'onThingMade')
  t.match(post.description, /^A thing was made\. Requires the scope `things:read`\.$/)
  t.strictSame(post.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/ThingMadeEvent',
  })
  const { type, data } = schemas.ThingMadeEvent.properties
  t.match(type, { const: 'thing.made', description: /type/ })
  t.match(data.properties.object, { $ref: '#/components/schemas/ThingInEvents', description: /resource/ })
  t.match(data.properties.previous_attributes, { $ref: '#/components/schemas/ThingInEventsBefore' })
  t.equal(schemas.ThingInEventsBefore.required, undefined, 'unchanged fields are omitted')
  t.end()
})

t.test('a field with x-in-events: false is in no event', (t) => {
  const properties = ['id', 'name', 'made_at', 'owner_id', 'owner']
  t.strictSame(Object.keys(schemas.ThingInEvents.properties), properties)
  t.ok(schemas.Thing.properties.mine, 'the resource still has the field')
  t.end()
})

t.test('the table has the scope, audience and role of each event', async (t) => {
  const { eventTypes } = await import(`${project.folder}/generated/events.ts`)
  t.match(eventTypes, {
    'thing.made': { scope: 'things:read', audience: 'user', project: null, role: null },
    'thing.moved': { scope: 'things:read', audience: 'project', project: 'id', role: 'editor' },
  })
  t.match(
    await project.read('generated/events.ts'),
    /'thing\.made': components\['schemas'\]\['ThingInEvents'\]/,
  )
})

t.test('an operation cannot have the name of a webhook', async (t) => {
  const file = 'spec/edge.yaml'
  const before = await project.read(file)
  t.teardown(() => project.write(file, before))
  await project.write(file, before.replace('operationId: postAlias', 'operationId: onThingMade'))
  await t.rejects(project.generate(), /The operationId onThingMade is for the webhook of thing\.made\./)
})

t.test('x-events is not published', (t) => {
  t.notOk('x-events' in published)
  t.end()
})
