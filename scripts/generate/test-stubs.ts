// Writes the start of a test for a new operation: the checks that follow from its declaration, and a failing
// assertion until the test is complete.
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Operation } from './model.ts'

/** @returns a line for each test written, and for each test that could not be written. */
export async function writeTests(root: string, tag: string, operations: Operation[]): Promise<string[]> {
  const name = await fileOf(join(root, 'test'), tag)
  const path = join(root, 'test', name)
  const there = await readFile(path, 'utf8').catch(() => null)
  if (there === null && !(await isFolder(join(root, 'test')))) return []
  // Tests are added only to files that use the common way of starting a server.
  const imports = [
    /^import t\b.* from 'tap'/m,
    /^import \{[^}]*\bcreateClient\b[^}]*\} from '\.\.\/support\/http\/client\.ts'/m,
    /^import \{[^}]*\bstartServer\b[^}]*\} from '\.\.\/support\/server\/server\.ts'/m,
  ]
  if (there !== null && !imports.every((wanted) => wanted.test(there))) {
    return operations.map(({ id }) => `test/${name}: add a test of ${id} by hand`)
  }
  const missing = operations.filter(({ id }) => there?.includes(id) !== true)
  if (missing.length === 0) return []
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${there ?? opening(tag)}\n${missing.map(skeleton).join('\n')}`)
  return missing.map(
    ({ id }) => `test/${name}: wrote the start of a test of ${id}, which fails until you complete it`,
  )
}

/**
 * The test file of a tag: an existing one in any folder, else a new one in the folder of the tag's first
 * word.
 */
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
  return `// The operations of the tag \`${tag}\`: access, responses, errors and side effects.
import t from 'tap'
import { createClient } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
`
}

/** In the order of all tests: no key, missing scope, success, edge cases. */
function skeleton(operation: Operation): string {
  const { id, pathParameters, scopes, summary } = operation
  const call = callOf(operation)
  const lines = [
    'const server = await startServer(t)',
    ...pathParameters.map(({ name }) => `const ${name} = 'unknown'`),
    ...(scopes === null
      ? []
      : [`t.equal((await createClient(server.url, null).${call}).status, 401, 'without a key')`]),
    ...(scopes === null || scopes.length === 0
      ? []
      : [
          'const unscoped = await server.person({ scopes: [] })',
          `t.equal((await unscoped.client.${call}).status, 403, ` +
            `'with a key without ${scopes.join(' and ')}')`,
        ]),
    'const { client } = await server.person()',
    `const reply = await client.${call}`,
    ...edgesOf(operation).map((edge) => `// TODO: ${edge}.`),
    `t.fail('complete the test of ${id}', { status: reply.status, body: reply.body })`,
  ]
  const body = lines.map((line) => `  ${line}\n`).join('')
  return `t.test('${summary.replaceAll("'", "\\'")}', async (t) => {\n${body}})\n`
}

/** The call of the tests' client: `get('/things')`. */
function callOf({ method, path, pathParameters, body }: Operation): string {
  const url =
    pathParameters.length === 0
      ? `'${path}'`
      : `\`${path.replace(/\{(\w+)\}/g, (_, name) => `\${${name}}`)}\``
  if (method === 'get' || method === 'delete') return `${method}(${url})`
  if (method === 'post' || method === 'put') return `${method}(${url}${body === null ? '' : ', {}'})`
  return `call('${method.toUpperCase()}', ${url}${body === null ? '' : ', { body: {} }'})`
}

/** Edge cases that follow from the operation's declaration. */
function edgesOf({
  body,
  headerParameters,
  method,
  pathParameters,
  projectAccess,
  organizationAccess,
}: Operation): string[] {
  const role = (projectAccess ?? organizationAccess)?.role ?? 'none'
  return [
    role !== 'none' && `a role below ${role} gets 403`,
    pathParameters.length > 0 && 'an unknown or inaccessible resource gets 404',
    body !== null && 'an invalid body gets 400',
    headerParameters.some(({ name }) => name === 'Idempotency-Key') &&
      'a repeated Idempotency-Key replays the response',
    headerParameters.some(({ name }) => name === 'If-Match') && 'a stale If-Match gets 412',
    method !== 'get' && 'a failure leaves no event and no row',
  ].filter((edge) => edge !== false)
}
