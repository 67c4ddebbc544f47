// The type errors that `npm run dev` prints: the handler first, and which property is missing.
import t from 'tap'
import { checkTypes } from '../../scripts/dev/types.ts'

const options = { module: 'nodenext', strict: true, allowImportingTsExtensions: true, types: [] }
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
    check = checkTypes(folder, resolve)
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
