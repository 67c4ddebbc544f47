// PUT merges: omitted fields keep their values, null clears a nullable field, and other fields reject null.
import t from 'tap'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { requestFor, operationInfos, send } from '../support/operations/operation-fixtures.ts'
import { recordChanges } from '../support/server/changes.ts'
import { allows, bodyOf, replyOf, type Schema } from '../support/contract/contract-schema.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
/** Fields that change with every update. */
const volatileFields = ['updated_at', 'version']
const withoutVolatile = (entity: Record<string, unknown>, ...names: string[]) =>
  Object.fromEntries(
    Object.entries(entity).filter(([name]) => !volatileFields.includes(name) && !names.includes(name)),
  )

/** The paths that merge independently. A group whose fields are all required counts as one path. */
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
const withValueAt = (before: any, [name, ...rest]: string[], value: unknown): any => ({
  ...before,
  [name]: rest.length === 0 ? value : withValueAt(before[name], rest, value),
})

/**
 * Replaced by another field of the same request, or with ids and fields that follow: see test/organizations,
 * test/payments and test/storage/folders.test.ts.
 */
const replaced = new Set([
  'updateMember custom_role_id',
  'updateSubscription items',
  'updateFile path',
  'updateFile folder_id',
  'updateFolder name',
  'updateFolder parent_id',
])

/** They replace everything, or a whole list: see the tests of entitlements and of versions. */
const replacing = ['setProductFeatures', 'setEntitlement', 'replaceFileContent']
const merging = ({ id, method }: OperationInfo): boolean => method === 'PUT' && !replacing.includes(id)

for (const { id, ifMatch } of operationInfos.filter(merging)) {
  const get = ifMatch as OperationId
  t.test(`${id} changes only the fields in the body`, async (t) => {
    t.equal(operations[get].method, 'GET')
    const responseFields = replyOf(get, 200)!.properties!
    const fields = leaves(bodyOf(id)).filter(
      ({ path: [name] }) => name in responseFields && !replaced.has(`${id} ${name}`),
    )
    for (const { path, schema } of fields) {
      const request = await requestFor(server, id)
      const name = path.join('.')
      const read = async () => (await send({ ...request, id: get, body: undefined })).body
      const value = at(request.body, path)
      t.not(value, undefined, `${name} is in the body of the fixture`)
      const before = await read()
      const reply = await send({ ...request, body: bodyWith(path, value) })
      t.equal(reply.status, 200, `${name} ${reply.text.slice(0, 200)}`)
      const after = await read()
      t.same(reply.body, after, `${name}: the answer equals the next read`)
      t.same(
        withoutVolatile(after),
        withoutVolatile(withValueAt(before, path, value)),
        `only ${name} changes`,
      )
      t.notSame(at(before, path), value, `${name} had another value before`)
      t.ok(after.updated_at > before.updated_at, `${name} changes updated_at`)
      if ('version' in before) t.equal(after.version, before.version + 1, `${name} increments the version`)

      const untouched = await changes()
      const cleared = await send({ ...request, body: bodyWith(path, null) })
      if ([schema, ...(schema.anyOf ?? [])].some((each) => allows(each, 'null'))) {
        t.equal(cleared.status, 200, `${name} is cleared`)
        t.same(
          withoutVolatile(await read()),
          withoutVolatile(withValueAt(after, path, null)),
          `only ${name} is cleared`,
        )
      } else {
        t.equal(cleared.status, 400, `${name} rejects null`)
        t.match(cleared.body.error.details, { field: name, constraint: 'type' })
        t.ok(
          cleared.body.error.details.errors.every((e: { field: string }) => e.field === name),
          `${name} is the only problem`,
        )
        t.same(await changes(), untouched, `${name}: nothing is written to the database`)
      }
    }
  })

  t.test(`${id} with an empty body changes nothing`, async (t) => {
    const request = await requestFor(server, id)
    const read = async () => (await send({ ...request, id: get, body: undefined })).body
    const before = await read()
    t.equal((await send({ ...request, body: {} })).status, 200)
    t.same(withoutVolatile(await read()), withoutVolatile(before))
  })

  t.test(`${id} with the same values again writes nothing`, async (t) => {
    const request = await requestFor(server, id)
    const first = await send(request)
    t.equal(first.status, 200, first.text)
    const written = await changes()
    const again = await send(request)
    t.equal(again.status, 200, again.text)
    t.same(await changes(), written)
    t.equal(again.headers.get('etag'), first.headers.get('etag'))
  })

  t.test(`${id} with one invalid field changes nothing`, async (t) => {
    const request = await requestFor(server, id)
    const before = await changes()
    t.equal((await send({ ...request, body: { ...request.body, surprise: 1 } })).status, 400)
    t.same(await changes(), before)
  })
}

t.test('metadata is merged key by key, and null removes a key', async (t) => {
  const { client } = await server.person()
  const { body: project } = await client.post('/projects', { name: 'x', metadata: { a: '1', b: '2' } })
  const path = `/projects/${project.id}`
  const put = async (metadata: object): Promise<any> => await client.put(path, { metadata })
  t.same((await put({ b: '3', c: '4' })).body.metadata, { a: '1', b: '3', c: '4' })
  t.same((await put({ a: null, d: null })).body.metadata, { b: '3', c: '4' })
  const many = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`k${i}`, 'x']))
  t.match(await put(many), {
    status: 400,
    body: { error: { details: { field: 'metadata', constraint: 'maxProperties' } } },
  })
  t.equal((await put({ ...many, b: null })).status, 200)
})
