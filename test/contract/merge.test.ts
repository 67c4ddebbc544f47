// PUT merges: what is left out stays, null clears what may be null, and nothing else may be null.
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import { askFor, infos, send } from '../support/operation-fixtures.ts'
import { createDump } from '../support/db-fixtures.ts'
import { allows, bodyOf, replyOf, type Schema } from '../support/contract-schema.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
/** What moves with every change. */
const moving = ['updated_at', 'version']
const still = (entity: Record<string, unknown>, ...names: string[]) =>
  Object.fromEntries(
    Object.entries(entity).filter(([name]) => !moving.includes(name) && !names.includes(name)),
  )

/** What merges by itself, as paths of one or two names: a group that is given whole or not at all is one. */
function leaves({ properties = {} }: Schema): Array<{ path: string[]; schema: Schema }> {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined || schema.required?.length === Object.keys(schema.properties).length
      ? [{ path: [name], schema }]
      : leaves(schema).map(({ path, schema: inner }) => ({ path: [name, ...path], schema: inner })),
  )
}
const at = (value: any, path: string[]) => path.reduce((inner, name) => inner?.[name], value)
const bodyWith = (path: string[], value: unknown): any =>
  path.reduceRight((inner: unknown, name) => ({ [name]: inner }), value)
const grown = (before: any, [name, ...rest]: string[], value: unknown): any => ({
  ...before,
  [name]: rest.length === 0 ? value : grown(before[name], rest, value),
})

for (const { id, ifMatch } of infos.filter((info) => info.method === 'PUT')) {
  const get = ifMatch as OperationId
  t.test(`${id} changes what it is given and no more`, async (t) => {
    t.equal(operations[get].method, 'GET')
    const shown = replyOf(get, 200)!.properties!
    for (const { path, schema } of leaves(bodyOf(id)).filter(({ path: [name] }) => name in shown)) {
      const ask = await askFor(server, id)
      const name = path.join('.')
      const read = async () => (await send({ ...ask, id: get, body: undefined })).body
      const value = at(ask.body, path)
      t.not(value, undefined, `${name} is in the fixture`)
      const before = await read()
      const reply = await send({ ...ask, body: bodyWith(path, value) })
      t.equal(reply.status, 200, `${name} ${reply.text.slice(0, 200)}`)
      const after = await read()
      t.same(reply.body, after, `${name}: the answer is what is read afterwards`)
      t.same(still(after), still(grown(before, path, value)), `${name} alone is changed`)
      t.notSame(at(before, path), value, `${name} was something else`)
      if ('updated_at' in before) t.ok(after.updated_at > before.updated_at, `${name} moves updated_at`)
      if ('version' in before) t.equal(after.version, before.version + 1, `${name} moves the version`)

      const untouched = await dump()
      const cleared = await send({ ...ask, body: bodyWith(path, null) })
      if (allows(schema, 'null')) {
        t.equal(cleared.status, 200, `${name} is cleared`)
        t.same(still(await read()), still(grown(after, path, null)), `${name} alone is cleared`)
      } else {
        t.equal(cleared.status, 400, `${name} is never null`)
        t.match(cleared.body.error.details, { field: name, constraint: 'type' })
        t.ok(
          cleared.body.error.details.errors.every((e: { field: string }) => e.field === name),
          `${name} is the only problem`,
        )
        t.same(await dump(), untouched, `${name}: nothing is written`)
      }
    }
  })

  t.test(`${id} of nothing changes nothing`, async (t) => {
    const ask = await askFor(server, id)
    const read = async () => (await send({ ...ask, id: get, body: undefined })).body
    const before = await read()
    t.equal((await send({ ...ask, body: {} })).status, 200)
    t.same(still(await read()), still(before))
  })

  t.test(`${id} with one wrong field among right ones changes nothing`, async (t) => {
    const ask = await askFor(server, id)
    const before = await dump()
    t.equal((await send({ ...ask, body: { ...ask.body, surprise: 1 } })).status, 400)
    t.same(await dump(), before)
  })
}
