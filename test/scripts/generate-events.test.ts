// What follows of x-events: the types that a filter may name, a webhook for each in the published document, and the table
// that emitting reads.
import t from 'tap'
import { miniProject } from '../support/mini-project.ts'

const project = await miniProject(t.testdir())
await project.generate()
const published = JSON.parse(await project.read('generated/openapi.json'))
const { schemas } = published.components

t.test('a schema of event types has all that are declared, among what it lists itself', (t) => {
  t.strictSame(schemas.Event.properties.type.enum, ['thing.made', 'thing.moved', 'other'])
  t.end()
})

t.test('each event is a webhook whose payload has its type, its object and what changed of it', (t) => {
  t.strictSame(Object.keys(published.webhooks), ['thing.made', 'thing.moved'])
  const { post } = published.webhooks['thing.made']
  t.equal(post.summary, 'thing.made')
  t.match(post.description, /^A thing was made\. Requires an API key with the scope `things:read`/)
  t.strictSame(post.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/ThingMadeEvent',
  })
  const { type, data } = schemas.ThingMadeEvent.properties
  t.equal(type.const, 'thing.made')
  t.equal(data.properties.object.$ref, '#/components/schemas/ThingInEvents')
  t.strictSame(data.properties.previous_attributes, { $ref: '#/components/schemas/ThingInEventsBefore' })
  t.equal(schemas.ThingInEventsBefore.required, undefined, 'what did not change is not there')
  t.end()
})

t.test('a field that depends on its reader is in no event', (t) => {
  t.strictSame(Object.keys(schemas.ThingInEvents.properties), ['id', 'name', 'made_at'])
  t.ok(schemas.Thing.properties.mine, 'and still in the resource')
  t.end()
})

t.test('the table says who may read an event', async (t) => {
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

t.test('the declarations themselves are not published', (t) => {
  t.notOk('x-events' in published)
  t.end()
})
