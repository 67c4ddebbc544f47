// Paths that differ only in their query, and parameters of several types, in the server that
// `generate FILE --out FOLDER` writes.
import { symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { generateProject } from '../project.ts'

const operation = (operationId: string): object => ({
  get: { operationId, responses: { '200': { description: 'Done.' } } },
})
const folder = t.testdir({
  'items.json': JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Items', version: '1' },
    paths: {
      '/items': operation('listItems'),
      '/items?beta=true': operation('listBetaItems'),
      '/parts?beta=true': operation('listBetaParts'),
      '/runs/{run}': {
        ...operation('getRun'),
        parameters: [
          {
            name: 'run',
            in: 'path',
            required: true,
            schema: { oneOf: [{ type: 'integer' }, { type: 'string', maxLength: 9 }] },
          },
        ],
      },
    },
  }),
})
symlinkSync(join(resolve(import.meta.dirname, '../../..'), 'node_modules'), join(folder, 'node_modules'))
await generateProject(join(folder, 'items.json'), join(folder, 'server'))
const { createServer } = await import(join(folder, 'server/generated/server.ts'))
const app = await createServer()
t.teardown(() => app.close())

for (const [url, expected] of [
  ['/items', 'The operation listItems is not implemented'],
  ['/items?beta=false', 'The operation listItems is not implemented'],
  ['/items?beta=true&page=2', 'The operation listBetaItems is not implemented'],
  ['/parts?beta=true', 'The operation listBetaParts is not implemented'],
  ['/parts', 'Not found'],
  ['/runs/12', 'The operation getRun is not implemented'],
  ['/runs/build.yml', 'The operation getRun is not implemented'],
  ['/runs/a-longer-name', 'Not found'],
])
  t.test(`GET ${url}: ${expected}`, async (t) => {
    t.match((await app.inject(url)).json().title, expected)
  })
