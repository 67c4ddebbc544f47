// The type errors that `npm run dev` prints: the handler first, and which property is missing.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkTypes } from '../../scripts/dev/types.ts'
import { waitUntil } from '../support/server/wait.ts'

const options = {
  module: 'nodenext',
  lib: ['es2022'],
  skipLibCheck: true,
  strict: true,
  allowImportingTsExtensions: true,
  types: [],
}
const handlers = `interface Task { id: string; owner: { id: string; nick: string } }
interface Handlers {
  getTask(): Promise<{ status: 200; body: Task }>
  isTask(task: unknown): Promise<boolean>
}

export const tasks = {
  async getTask() {
    return { status: 200, body: { id: 't1', owner: { id: 'u1' } } }
  },
  async isTask(task) {
    const isDone = task.done
    return isDone
  },
} satisfies Handlers
`

t.test('a handler that forgets a property is named, and so is the property', async (t) => {
  const folder = t.testdir({
    'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['handlers'] }),
    handlers: { 'tasks.ts': handlers },
    node_modules: {},
  })
  let check
  const errors = await new Promise<unknown[]>((resolve) => {
    check = checkTypes(folder, { onChecked: resolve })
  }).finally(() => check!.stop())
  t.strictSame(errors, [
    {
      file: 'handlers/tasks.ts',
      line: 8,
      column: 9,
      message:
        "getTask: body.owner: Property 'nick' is missing in type '{ id: string; }' " +
        "but required in type '{ id: string; nick: string; }'. (TS2322)",
    },
    {
      file: 'handlers/tasks.ts',
      line: 12,
      column: 20,
      message: "isTask: 'task' is of type 'unknown'. (TS18046)",
    },
  ])
})

t.test('each check has the errors of the files as they are now', async (t) => {
  const importing = "import { one } from '../services/tasks/one.ts'\nexport const two: number = one\n"
  const folder = t.testdir({
    'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['handlers', 'test'] }),
    handlers: { 'tasks.ts': importing },
    test: { 'fixtures.ts': "import { two } from '../handlers/tasks.ts'\nexport const three: string = two\n" },
    node_modules: {},
  })
  const checks: string[][] = []
  const early: string[] = []
  const check = checkTypes(folder, {
    onSaved: (errors) =>
      early.push(...errors.map(({ file, line }) => `${file}:${line} before ${checks.length}`)),
    onChecked: (errors) => checks.push(errors.map(({ file, line }) => `${file}:${line}`)),
  })
  t.teardown(() => check.stop())
  const says = async (wanted: string[], change = (): void => {}): Promise<void> => {
    change()
    const hasCome = (): boolean => JSON.stringify(checks.at(-1)) === JSON.stringify(wanted)
    await waitUntil(hasCome, `${wanted.join()}, but it says ${JSON.stringify(checks)}`, 180_000)
  }
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  await says(['handlers/tasks.ts:1', 'test/fixtures.ts:2'])
  await says(['test/fixtures.ts:2'], () => {
    mkdirSync(join(folder, 'services/tasks'), { recursive: true })
    write('services/tasks/one.ts', 'export const one = 1\n')
  })
  await says(['handlers/tasks.ts:2', 'test/fixtures.ts:2'], () =>
    write('services/tasks/one.ts', "export const one = 'one'\n"),
  )
  await says([], () => write('handlers/tasks.ts', importing.replace('number', 'any')))
  const before = checks.length
  await says(['test/fixtures.ts:1'], () =>
    write('test/fixtures.ts', 'export const three: number = "three"\n'),
  )
  t.ok(early.includes(`test/fixtures.ts:1 before ${before}`), 'the errors of a saved file come first')
  await says([], () => {
    // As editors do.
    write('test/fixtures.ts~', 'export const three = 3\n')
    renameSync(join(folder, 'test/fixtures.ts~'), join(folder, 'test/fixtures.ts'))
  })
})

t.test('the errors of a check during which a file has changed never come', async (t) => {
  const folder = t.testdir({
    'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['handlers'] }),
    handlers: { 'tasks.ts': 'export const one: number = "one"\n' },
    node_modules: {},
  })
  const came: string[] = []
  const check = checkTypes(folder, {
    // The check has not read the file yet, or has read it before this change.
    onBegin: () => {
      came.push('begin')
      writeFileSync(join(folder, 'handlers/tasks.ts'), 'export const one = 1\n')
    },
    onChecked: (errors) => came.push(`${errors.length} errors`),
  })
  t.teardown(() => check.stop())
  await waitUntil(() => came.includes('0 errors'), `no error, but it says ${came.join()}`, 180_000)
  t.notMatch(came, ['1 errors'])
  const before = came.length
  check.report()
  await waitUntil(() => came.length > before, 'the errors again', 180_000)
  t.equal(came.at(-1), '0 errors')
})
