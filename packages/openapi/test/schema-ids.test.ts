// References by `$id`, by `$anchor`, and by `$dynamicRef`.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readOpenapi } from '../read.ts'
import { resolve } from '../resolve.ts'

const bodyOf = (schema: object): object => ({
  requestBody: { content: { 'application/json': { schema } } },
  responses: {},
})
const read = (t: Test, openapi: string, document: object, files: Record<string, object> = {}) => {
  const all = {
    'api.json': { openapi, info: { title: 't', version: '1' }, paths: {}, ...document },
    ...files,
  }
  const folder = t.testdir(
    Object.fromEntries(Object.entries(all).map(([name, content]) => [name, JSON.stringify(content)])),
  )
  return readOpenapi(join(folder, 'api.json'))
}

t.test('a schema is found by its $id and by an anchor', async (t) => {
  const document = await read(
    t,
    '3.1.0',
    {
      components: {
        schemas: {
          Pet: { $id: 'https://pets.example/pet', $defs: { name: { $anchor: 'name', type: 'string' } } },
          ByUrl: { $ref: 'https://pets.example/pet' },
          ByAnchor: { $ref: 'https://pets.example/pet#name' },
          Relative: { $id: 'https://pets.example/other', properties: { pet: { $ref: 'pet#/$defs/name' } } },
          InFile: { $ref: './tags.json#tag' },
          Data: { example: { $id: 'x', $ref: '#nothing' } },
        },
      },
    },
    { 'tags.json': { $defs: { tag: { $anchor: 'tag', type: 'integer' } } } },
  )
  const { ByUrl, ByAnchor, Relative, InFile, Data } = document.components.schemas
  t.same(ByUrl, { $ref: '#/components/schemas/Pet' })
  t.same(resolve(document, ByAnchor), { type: 'string' })
  t.same(resolve(document, Relative.properties.pet), { type: 'string' })
  t.same(resolve(document, InFile), { type: 'integer' })
  t.same(Data, { example: { $id: 'x', $ref: '#nothing' } }, 'an example is data')
})

t.test('a $dynamicRef leads to the outermost anchor', async (t) => {
  const page = {
    $id: 'https://pets.example/page',
    properties: { data: { type: 'array', items: { $dynamicRef: '#item' } } },
    $defs: { item: { $dynamicAnchor: 'item' } },
  }
  const pages = (type: string): object => ({
    $id: `https://pets.example/${type}`,
    $ref: 'page',
    $defs: { item: { $dynamicAnchor: 'item', type } },
  })
  const document = await read(t, '3.1.0', {
    paths: {
      '/texts': { post: bodyOf({ $ref: 'https://pets.example/string' }) },
      '/pages': { post: bodyOf({ $ref: 'https://pets.example/page' }) },
    },
    components: { schemas: { Page: page, Texts: pages('string'), Numbers: pages('number') } },
  })
  const itemOf = (schema: any): object => resolve(document, resolve(document, schema).properties.data.items)
  const { Page, Texts, Numbers } = document.components.schemas
  t.same(itemOf(Texts), { type: 'string' })
  t.same(itemOf(Numbers), { type: 'number' })
  t.same(itemOf(Page), {})
  const { schema } = document.paths['/texts'].post.requestBody.content['application/json']
  t.same(itemOf(schema), { type: 'string' })
  t.notMatch(JSON.stringify(document), /\$dynamic|\$id/)
})

t.test('before version 3.1, draft 4 applies', async (t) => {
  const schemas = {
    Beside: { $ref: '#/components/schemas/Name', minLength: 3, nullable: true, description: 'A name.' },
    Name: { type: 'string', enum: [] },
    Items: { type: 'array', items: [{ type: 'string' }], additionalItems: false },
    Id: { id: 'https://pets.example/id', $id: '%', type: 'string' },
  }
  const old = (await read(t, '3.0.3', { components: { schemas } })).components.schemas
  t.same(old.Beside, {
    description: 'A name.',
    anyOf: [{ $ref: '#/components/schemas/Name' }, { type: 'null' }],
  })
  t.same(old.Name, { type: 'string' })
  t.same(old.Items, { type: 'array', prefixItems: [{ type: 'string' }], items: false })
  t.same(old.Id, { type: 'string' })
  const { Beside, Name } = (await read(t, '3.1.0', { components: { schemas } })).components.schemas
  t.equal(Beside.anyOf[0].minLength, 3)
  t.same(Name, { type: 'string', not: {} })
})

t.test('a pointer into another file may have escaped characters', async (t) => {
  const file = { definitions: { 'a/b': { type: 'integer' }, 'a%b': { type: 'boolean' } } }
  const properties = { a: { $ref: 'a.json#/definitions/a~1b' }, b: { $ref: 'a.json#/definitions/a%25b' } }
  const components = { schemas: { Own: { properties } } }
  const document = await read(t, '3.0.3', { components }, { 'a.json': file })
  const { a, b } = document.components.schemas.Own.properties
  t.same([resolve(document, a), resolve(document, b)], [{ type: 'integer' }, { type: 'boolean' }])
})
