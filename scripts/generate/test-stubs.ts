// The beginning of a new operation's test, beside those of its tag: what its declaration demands of it already, and a failure
// until somebody says what it does.
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Operation } from './model.ts'

/** @returns a line for each test written, and for each file where one could not be written. */
export async function writeTests(root: string, tag: string, operations: Operation[]): Promise<string[]> {
  const name = await fileOf(join(root, 'test'), tag)
  const path = join(root, 'test', name)
  const there = await readFile(path, 'utf8').catch(() => null)
  if (there === null && !(await isFolder(join(root, 'test')))) return []
  // A file that has its own way of starting servers is its authors'.
  const imports = [
    /^import t\b.* from 'tap'/m,
    /^import \{[^}]*\bcreateClient\b[^}]*\} from '\.\.\/support\/client\.ts'/m,
    /^import \{[^}]*\bstartServer\b[^}]*\} from '\.\.\/support\/server\.ts'/m,
  ]
  if (there !== null && !imports.every((wanted) => wanted.test(there))) {
    return operations.map(({ id }) => `test/${name}: ${id} wants a test there, which only you can place`)
  }
  const missing = operations.filter(({ id }) => there?.includes(id) !== true)
  if (missing.length === 0) return []
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${there ?? opening(tag)}\n${missing.map(skeleton).join('\n')}`)
  return missing.map(
    ({ id }) => `test/${name}: ${id} has the beginning of a test, which fails until it is written`,
  )
}

/** The test file of a tag: one of its name in any folder, else a new one in the folder of the tag's first word. */
async function fileOf(folder: string, tag: string): Promise<string> {
  const file = `${tag}.test.ts`
  const below = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of below) {
    if (
      entry.isDirectory() &&
      entry.name !== 'support' &&
      (await readdir(join(folder, entry.name))).includes(file)
    )
      return `${entry.name}/${file}`
  }
  return `${tag.split('-')[0]}/${file}`
}

async function isFolder(path: string): Promise<boolean> {
  return await readdir(path).then(
    () => true,
    () => false,
  )
}

function opening(tag: string): string {
  return `// The operations of the tag \`${tag}\`: who may call them, what they answer, and what must not happen besides.
import t from 'tap'
import { createClient } from '../support/client.ts'
import { startServer } from '../support/server.ts'
`
}

/** In the order of all tests: anonymous, wrong right, right one, edges. */
function skeleton(operation: Operation): string {
  const { id, path_, scopes, summary } = operation
  const call = callOf(operation)
  const lines = [
    'const server = await startServer(t)',
    ...path_.map(({ name }) => `const ${name} = 'unknown'`),
    ...(scopes === null
      ? []
      : [`t.equal((await createClient(server.url, null).${call}).status, 401, 'without a key')`]),
    ...(scopes === null || scopes.length === 0
      ? []
      : [
          `t.equal((await (await server.person({ scopes: [] })).client.${call}).status, 403, 'with a key that lacks ${scopes.join(' and ')}')`,
        ]),
    'const { client } = await server.person()',
    `const reply = await client.${call}`,
    ...edgesOf(operation).map((edge) => `// And ${edge}.`),
    `t.fail('${id} has no test yet: say what it answers', { status: reply.status, body: reply.body })`,
  ]
  return `t.test('${summary.replaceAll("'", "\\'")}', async (t) => {\n${lines.map((line) => `  ${line}\n`).join('')}})\n`
}

/** As the tests' client is called: `get('/things')`. */
function callOf({ method, path, path_, body }: Operation): string {
  const url =
    path_.length === 0 ? `'${path}'` : `\`${path.replace(/\{(\w+)\}/g, (_, name) => `\${${name}}`)}\``
  if (method === 'get' || method === 'delete') return `${method}(${url})`
  if (method === 'post' || method === 'put') return `${method}(${url}${body === null ? '' : ', {}'})`
  return `call('${method.toUpperCase()}', ${url}${body === null ? '' : ', { body: {} }'})`
}

/** What else is worth a test, as the operation is declared. */
function edgesOf({ body, header, method, path_, projectAccess }: Operation): string[] {
  return [
    projectAccess !== null &&
      projectAccess.role !== 'none' &&
      `with a role below ${projectAccess.role}, which is 403`,
    path_.length > 0 && "of what is not there or not one's own, which is 404",
    body !== null && 'with a body that breaks its schema, which is 400',
    header.some(({ name }) => name === 'Idempotency-Key') && 'twice with the same Idempotency-Key',
    header.some(({ name }) => name === 'If-Match') &&
      'with another If-Match than the present ETag, which is 412',
    method !== 'get' && 'what must not have happened where it failed: no event, no row',
  ].filter((edge) => edge !== false)
}
