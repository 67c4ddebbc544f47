// `npm run sql -- OPERATION`: the SQL that an operation can run, as a tree of the functions from its handler
// to the files of prisma/sql.
//   --routes   where Citus runs each statement of the hottest operations, in the database of DATABASE_URL
import { resolve } from 'node:path'
import { callTree, type Call } from './call-tree.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const root = resolve(import.meta.dirname, '../..')
const [operation] = process.argv.slice(2)
if (operation === undefined) {
  console.error('Usage: npm run sql -- OPERATION, or npm run sql -- --routes')
  process.exit(2)
}
if (operation === '--routes') {
  const { printRoutes } = await import('./print-routes.ts')
  await printRoutes(root)
} else printTree(operation)

function printTree(name: string): void {
  const tree = callTree(root, name)
  if (tree === null) {
    console.error(`There is no operation ${name} in handlers/.`)
    process.exit(1)
  }
  console.log(textOf(tree).join('\n'))
}

function textOf({ name, place, calls }: Call): string[] {
  const title = place === null ? name : `${name}  (${place})`
  return [title, ...calls.flatMap(textOf).map((line) => `  ${line}`)]
}
