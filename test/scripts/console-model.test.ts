// The model that the generator makes of the contract for the console.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { clientNames } from '../../scripts/generate/client-names.ts'
import { consoleModel } from '../../scripts/generate/console-model.ts'
import { operationsOf } from '../../scripts/generate/model.ts'

const published = readFileSync(join(import.meta.dirname, '../../generated/openapi.json'), 'utf8')

/** The model of the contract with a new action of projects. */
function modelWith(hints: object) {
  const document = JSON.parse(published)
  document.paths['/projects/{id}/publish'] = {
    ...document.paths['/projects/{id}/archive'],
    post: {
      ...document.paths['/projects/{id}/archive'].post,
      operationId: 'publishProject',
      'x-console': hints,
    },
  }
  const operations = operationsOf(document)
  return consoleModel(document, operations, clientNames(document, operations))
}

t.test('a new action of a resource is a button with its states', async (t) => {
  const model = modelWith({ title: 'Publish now', when: { status: ['active'] } })
  const { actions } = model.details.find(({ path }) => path === '/projects/{id}')!
  t.match(actions.at(-1), { title: 'Publish now', operation: 'publishProject' })
  t.match(model.operations.publishProject, { method: 'POST', when: { status: ['active'] } })
})

t.test('a state of a field that the resource does not have is an error', async (t) => {
  t.throws(() => modelWith({ when: { state: ['active'] } }), {
    message: 'x-console of publishProject: the resource has no field `state`.',
  })
})
