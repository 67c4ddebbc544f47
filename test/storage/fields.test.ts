// The fields of a file have one meaning in a form, in the metadata of a resumable upload and in JSON.
import t from 'tap'
import type { Client } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import { upload } from '../support/storage/storage.ts'
import { tusClient } from '../support/http/tus.ts'

const server = await startServer(t)

interface Saved {
  status: number
  body: any
}

const ways: Record<string, (fields: Record<string, string>) => Promise<Saved>> = {}
const person = await server.person()
const tus = tusClient(server.url, person.key)
ways.form = async (fields) => await upload(person.client, { fields })
ways['resumable upload'] = async (fields) => {
  const { status, body } = await tus.create(0, { filename: 'a.txt', ...fields })
  if (status !== 201) return { status, body }
  return { status, body: (await person.client.get(`/storage/files/${body.file_id}`)).body }
}

async function updated(client: Client, fields: object): Promise<Saved> {
  const { body } = await upload(client)
  return await client.put(`/storage/files/${body.id}`, fields)
}

t.test('tags are a JSON array or a comma-separated list', async (t) => {
  for (const [way, save] of Object.entries(ways)) {
    for (const [text, tags] of [
      ['a', ['a']],
      ['a,b', ['a', 'b']],
      [' a , b c ', ['a', 'b c']],
      ['["a","b"]', ['a', 'b']],
      [' [ "a" ] ', ['a']],
      ['[]', []],
      ['{"a"}', ['{"a"}']],
    ] as Array<[string, string[]]>) {
      const { status, body } = await save({ tags: text })
      t.equal(status, 201, `${way}: ${text}`)
      t.same(body.tags, tags, `${way}: ${text}`)
    }
    for (const [text, field, constraint] of [
      ['', 'tags[0]', 'required'],
      ['a,,b', 'tags[1]', 'required'],
      ['a,b,', 'tags[2]', 'required'],
      ['a,a', 'tags', 'uniqueItems'],
      ['[a]', 'tags', 'type'],
      ['["a","b"', 'tags', 'type'],
      ['["a,b"]', 'tags[0]', 'pattern'],
      ['[" a"]', 'tags[0]', 'pattern'],
      ['["[a"]', 'tags[0]', 'pattern'],
      ['["a",1]', 'tags[1]', 'type'],
      [Array.from({ length: 21 }, (_, i) => i).join(), 'tags', 'maxItems'],
    ]) {
      const { status, body } = await save({ tags: text })
      t.equal(status, 400, `${way}: ${text}`)
      t.match(body.error.details, { field, constraint }, `${way}: ${text}`)
    }
  }
  const repeated = await upload(person.client, {
    fields: [
      ['tags', 'a,b'],
      ['tags', '["c"]'],
      ['tags', 'd'],
    ],
  })
  t.same(repeated.body.tags, ['a', 'b', 'c', 'd'], 'a field of a form can be repeated')
  t.same((await updated(person.client, { tags: ['a', 'b c'] })).body.tags, ['a', 'b c'])
  for (const [tags, field] of [
    [['a,b'], 'tags[0]'],
    [['a', ' b'], 'tags[1]'],
    ['a,b', 'tags'],
  ]) {
    const { status, body } = await updated(person.client, { tags })
    t.equal(status, 400)
    t.equal(body.error.details.field, field)
  }
})

t.test('metadata is a JSON object', async (t) => {
  for (const [way, save] of Object.entries(ways)) {
    t.same((await save({ metadata: '{"ticket":"OPS-12"}' })).body.metadata, { ticket: 'OPS-12' }, way)
    for (const text of ['', 'ticket=OPS-12', '{"ticket"', '["ticket"]', '"ticket"', 'null']) {
      const { status, body } = await save({ metadata: text })
      t.equal(status, 400, `${way}: ${text}`)
      t.equal(body.error.details.field, 'metadata', `${way}: ${text}`)
    }
  }
})

t.test('one slash at each end of a path is ignored', async (t) => {
  const { id: project_id } = (await person.client.post('/projects', { name: 'Paths' })).body
  for (const [way, save] of Object.entries(ways)) {
    for (const [path, folder] of [
      ['a/b', 'a/b'],
      ['/a/b/', 'a/b'],
      ['/a/b', 'a/b'],
      ['a/b/', 'a/b'],
      ['/', ''],
      ['', ''],
    ])
      t.equal((await save({ path, project_id })).body.path, folder, `${way}: ${path}`)
    for (const path of ['a//b', '//a', 'a//', '//', '/../a', '/a/..', '/./', 'a\\b']) {
      const { status, body } = await save({ path })
      t.equal(status, 400, `${way}: ${path}`)
      t.match(
        body.error,
        {
          message:
            'path must be a path such as reports/2026, without empty parts, ., .., \\ or control characters',
          details: { field: 'path', constraint: 'pattern' },
        },
        `${way}: ${path}`,
      )
    }
  }
  t.equal((await updated(person.client, { path: '/c/d/' })).body.path, 'c/d')
  t.equal((await updated(person.client, { path: 'c//d' })).status, 400)
  const file = (await upload(person.client, { fields: { path: 'c/d' } })).body
  const same = await person.client.put(`/storage/files/${file.id}`, { path: '/c/d/' })
  t.equal(same.body.updated_at, file.updated_at, 'the same path changes nothing')
  const count = async (path: string): Promise<any> =>
    (await person.client.get(`/storage/files?project_id=${project_id}&path=${encodeURIComponent(path)}`)).body
      .pagination?.total
  for (const path of ['a/b', '/a/b/', '/a', 'a/']) t.equal(await count(path), 8, path)
  t.equal(await count('/'), 12, 'all files')
  t.equal((await person.client.get('/storage/files?path=')).status, 400)
  t.equal(await count('b'), 0)
  t.equal((await person.client.get('/storage/files?path=a//b')).body.error.details.field, 'path')
})
